"""The `kerasline` command: a table of commands, each imported only when it is called.

`kerasline --help` must answer at once, so nothing here imports TensorFlow, and the help line of
each command stands in the table.
"""

import sys
from collections.abc import Sequence

# Name -> (module that holds a click command named `command`, help line).
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("pipeline.cli.init", "Write a recipe for a folder of files or a file of rows."),
    "run": ("pipeline.cli.run", "Run a recipe: from the data to a published model."),
    "train": ("pipeline.cli.train", "Train alone: no gates, no publishing."),
    "overfit": ("pipeline.cli.overfit", "Check that the network learns one batch by heart."),
    "lr-find": ("pipeline.cli.lr_find", "Find a learning rate, with a picture."),
    "batch-find": ("pipeline.cli.batch_find", "Measure batch sizes for speed and memory."),
    "estimate": ("pipeline.cli.estimate", "Estimate the memory that a training needs."),
    "profile": ("pipeline.cli.profile", "Measure where the time of a training step goes."),
    "explain": ("pipeline.cli.explain", "Say for each step why it would run or not."),
    "predict": ("pipeline.cli.predict", "Ask a model about files, texts or rows."),
    "serve": ("pipeline.cli.serve", "Answer REST and gRPC requests with published models."),
    "deploy": (
        "pipeline.cli.deploy",
        "Write files for TF Serving in Docker, Kubernetes or KServe.",
    ),
    "compile": (
        "pipeline.cli.compile",
        "Write YAML for Kubeflow, Vertex AI or Kubernetes.",
    ),
    "config": ("pipeline.cli.config", "Show what a recipe resolves to."),
    "data": ("pipeline.cli.data", "Look at the data of a recipe."),
    "doctor": ("pipeline.cli.doctor", "Check the environment and the machine."),
    "test": ("pipeline.cli.test", "Run Kerasline's own tests."),
}

# Exit statuses, as `docs/commands.md` lists them.
EXIT_BAD_INPUT = 2
EXIT_GATE_REFUSED = 3
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: Words after `kerasline`; `sys.argv[1:]` by default.

    Returns:
        The exit status: 0 done, 2 bad input, 3 a gate refused, 130 interrupted, else 1.
    """
    try:
        # Imported here, so that an interrupt during the import ends without a traceback too.
        from pipeline.cli import group

        return group.invoke(COMMANDS, arguments)
    except KeyboardInterrupt:
        print("\nkerasline: interrupted.", file=sys.stderr)
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
