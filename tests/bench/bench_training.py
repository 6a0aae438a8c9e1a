"""Training, each part against a named baseline beside it. Prints Markdown tables.

- `epochs`: whole trainings, hooks and validation included, against a bare `model.fit`.
- `auto`: the auto execution against every point of a grid set by hand, and against a default `fit`.
- `torch`: the reference transformer against PyTorch, eager; needs `--torch-venv`.
- `memory`: the process' memory over 200 epochs.

    .venv/bin/python -m tests.bench.bench_training --torch-venv /tmp/torch
"""

import argparse
import functools
import itertools
import pathlib
import tempfile
from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

from tests.bench import machine, training_epochs
from tests.bench.reference_models import REFERENCES
from tests.bench.training_runs import FitRun, OwnRun, TorchRun, medians

PARTS = ("epochs", "auto", "torch", "memory")
GRID = tuple(itertools.product((False, True), (1, 8, 32)))
# Steps that are timed at once, multiples of 32: about a second each.
NUM_STEPS = {"cnn": 32, "transformer": 32, "mlp": 1024}
# The recipes that train a model of the same kind; the texts are written by the benchmark.
RECIPES = {"cnn": "fashion_mnist", "transformer": "texts", "mlp": "digits"}
NUM_EPOCHS = 200
# So many steps fall into one execution here, lest a comparison take minutes.
_MOST_STEPS = 256


def _label(steps_per_execution: int, jit_compile: bool) -> str:
    return f"{steps_per_execution}, XLA" if jit_compile else str(steps_per_execution)


def compare_epochs(models: Sequence[str], rounds: int) -> str:
    """Milliseconds per step of whole trainings."""
    lines = [
        "| recipe | steps per execution | XLA | fit | kerasline | to fit |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        texts = str(training_epochs.write_texts(pathlib.Path(folder)))
        for model in models:
            name = RECIPES[model]
            recipe = texts if name == "texts" else name
            lines.append(training_epochs.compare(name, recipe, rounds=rounds))
    return "\n".join(lines)


def compare_auto(name: str, rounds: int) -> str:
    """Milliseconds per step of each point of the grid, of the chosen one and of `fit`."""
    reference, num_steps = REFERENCES[name], NUM_STEPS[name]
    compiled, plain, chosen_run = OwnRun(reference), OwnRun(reference), OwnRun(reference)
    compiled.set_jit(True)
    plain.set_jit(False)
    chosen = chosen_run.choose()
    chosen_steps = min(chosen.steps_per_execution, _MOST_STEPS, num_steps)
    runs: dict[str, Callable[[], float]] = {
        "fit": functools.partial(FitRun(reference).step_secs, num_steps),
        "chosen": functools.partial(
            chosen_run.step_secs, num_steps, steps_per_execution=chosen_steps
        ),
    }
    for jit_compile, steps in GRID:
        run = compiled if jit_compile else plain
        runs[_label(steps, jit_compile)] = functools.partial(
            run.step_secs, num_steps, steps_per_execution=steps
        )
    secs = medians(runs, rounds=rounds)
    grid = {label: value for label, value in secs.items() if label not in ("fit", "chosen")}
    best = min(grid, key=lambda label: grid[label])
    shown = " | ".join(f"{1e3 * value:.2f}" for value in grid.values())
    return (
        f"| {name} | {1e3 * secs['fit']:.2f} | {shown} | {1e3 * secs['chosen']:.2f} "
        f"({_label(chosen.steps_per_execution, chosen.jit_compile)}) "
        f"| {grid[best] / secs['chosen']:.2f}x ({best}) | {secs['fit'] / secs['chosen']:.2f}x |"
    )


def compare_all_auto(models: Sequence[str], rounds: int) -> str:
    """One row for each reference; speeds are as shares of the baseline's, more is quicker."""
    labels = " | ".join(_label(steps, jit_compile) for jit_compile, steps in GRID)
    rows = [compare_auto(name, rounds) for name in models]
    head = f"| model | default fit | {labels} | chosen | of the best point | of fit |"
    return "\n".join([head, "|---" * (len(GRID) + 5) + "|", *rows])


def compare_torch(rounds: int, torch_venv: pathlib.Path | None) -> str:
    """The reference transformer: Keras' `fit`, Kerasline and PyTorch, without clipping."""
    if torch_venv is None:
        return (
            "Skipped: PyTorch is not compared without `--torch-venv`, the folder of a virtual "
            "environment that has the package torch."
        )
    reference, num_steps = REFERENCES["transformer"], NUM_STEPS["transformer"]
    with tempfile.TemporaryDirectory() as folder:
        python = torch_venv / "bin" / "python"
        torch_run = TorchRun(reference, python=python, folder=pathlib.Path(folder))
        own_run = OwnRun(reference, global_clipnorm=0.0)
        pairs = zip(torch_run.losses(20), own_run.losses(20), strict=True)
        difference = max(abs(theirs - ours) for theirs, ours in pairs)
        chosen = own_run.choose()
        fit_run = FitRun(reference, global_clipnorm=0.0)
        steps = min(chosen.steps_per_execution, num_steps)
        runs: dict[str, Callable[[], float]] = {
            f"PyTorch {torch_run.version['torch']}, eager": functools.partial(
                torch_run.step_secs, num_steps
            ),
            "default `fit`": functools.partial(fit_run.step_secs, num_steps),
            f"kerasline ({_label(chosen.steps_per_execution, chosen.jit_compile)})": (
                functools.partial(own_run.step_secs, num_steps, steps_per_execution=steps)
            ),
        }
        secs = medians(runs, rounds=rounds)
        torch_run.close()
    base = next(iter(secs.values()))
    lines = ["| program | ms per step | rows/s | of PyTorch |", "|---|---|---|---|"]
    for name, value in secs.items():
        rows = reference.batch_size / value
        lines.append(f"| {name} | {1e3 * value:.1f} | {rows:.0f} | {base / value:.2f}x |")
    lines.append(f"\nLargest difference of the losses of the first 20 steps: {difference:.1e}.")
    return "\n".join(lines)


def measure_memory() -> str:
    """The process' memory over many epochs."""
    row = training_epochs.memory_over_epochs(num_epochs=NUM_EPOCHS)
    return f"| epochs | MiB after 10 | MiB at the end | ratio |\n|---|---|---|---|\n{row}"


def main() -> None:
    """Prints the tables of the chosen parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=PARTS, help="may be repeated")
    parser.add_argument("--model", action="append", choices=list(REFERENCES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch-venv", type=pathlib.Path)
    options = parser.parse_args()
    models = options.model or list(REFERENCES)
    parts = {
        "epochs": lambda: compare_epochs(models, options.rounds),
        "auto": lambda: compare_all_auto(models, options.rounds),
        "torch": lambda: compare_torch(options.rounds, options.torch_venv),
        "memory": measure_memory,
    }
    print(f"{machine.describe()}, Keras {keras.__version__}, TensorFlow {tf.__version__}")
    for name, part in parts.items():
        if not options.only or name in options.only:
            print(f"\n{name}\n\n{part()}", flush=True)


if __name__ == "__main__":
    main()
