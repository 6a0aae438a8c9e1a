"""`kerasline compile`: writes the pipeline, or the training alone, as a file for a cluster."""

import importlib
import pathlib

import click

from pipeline.cli import group, options
from pipeline.config import Recipe, RunConfig
from pipeline.runners import narrow_imports, training_job

# Runner of the whole chain -> how its root must begin or what it must hold, and a placeholder.
_ROOTS = {
    "kubeflow": ("://", "s3://your-bucket/kerasline"),
    "vertex": ("gs://", "gs://your-bucket/kerasline"),
}
# Runners of the training alone, on several machines.
_JOBS = {
    "kubernetes-job": training_job.compile_kubernetes,
    "kubeflow-trainer": training_job.compile_kubeflow_trainer,
}
_DEFAULTS = RunConfig.model_fields


@click.command("compile", short_help="Write YAML for Kubeflow, Vertex AI or Kubernetes.")
@options.recipe
@click.option(
    "--runner",
    type=click.Choice((*_ROOTS, *_JOBS)),
    required=True,
    help="Where the file is to run; the last two train alone, on several machines.",
)
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=pathlib.Path, dir_okay=False),
    help="The file to write.",
)
@click.option(
    "--root",
    help="Of a pipeline: address that every container reaches, for what the steps make, such as "
    "s3://bucket/runs or, for Vertex AI, gs://bucket/runs. A placeholder if left out.",
)
@click.option(
    "--image",
    default=_DEFAULTS["image"].default,
    show_default=True,
    help="Container image that the steps run in.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=_DEFAULTS["num_workers"].default,
    show_default=True,
    help="Of a training job: how many machines.",
)
@click.option(
    "--claim",
    default=_DEFAULTS["volume_claim"].default,
    show_default=True,
    help="Of a training job: the volume claim that all its pods can write to.",
)
@options.strategy
@options.beam_options
def command(
    recipe_name: str,
    set_values: tuple[str, ...],
    runner: str,
    output: pathlib.Path,
    root: str | None,
    image: str,
    workers: int,
    claim: str,
    strategy: str,
    beam_options: tuple[str, ...],
) -> None:
    """Write the pipeline as YAML for Kubeflow or Vertex AI, or the training as a job.

    Works off-line: no cluster, no bucket and no account is touched. The same recipe gives the same
    bytes.

    \b
    Example:
      kerasline compile digits --runner vertex --root gs://bucket/runs -o digits.yaml
      kerasline compile digits --runner kubernetes-job --workers 4 --claim runs -o job.yaml
    """
    recipe = options.load_recipe(recipe_name, set_values)
    _check_output(output)
    if runner in _JOBS:
        run_config = options.load_run_config(
            recipe_name,
            recipe,
            image=image,
            strategy=strategy,
            num_workers=workers,
            volume_claim=claim,
        )
        _compile_job(runner, recipe, run_config, root, output)
        return
    _check_root(runner, root)
    placeholder = _ROOTS[runner][1]
    run_config = options.load_run_config(
        recipe_name,
        recipe,
        root=root or placeholder,
        image=image,
        strategy=strategy,
        beam_options=list(beam_options),
    )
    click.echo("Compiling; importing TFX takes a while ...", err=True)
    narrow_imports.install()
    module = importlib.import_module(f"pipeline.runners.{runner}")
    module.compile(recipe, run_config, output)
    click.echo(f"Wrote {output}.")
    if root is None:
        click.echo(f"Its root is the placeholder {placeholder}: name yours with --root.", err=True)


def _compile_job(
    runner: str, recipe: Recipe, run_config: RunConfig, root: str | None, output: pathlib.Path
) -> None:
    if root is not None:
        raise group.BadInputError(
            "A training job keeps its results in the volume of --claim. "
            f"Received: --root {root}. Leave it out."
        )
    try:
        _JOBS[runner](recipe, run_config, output)
    except ValueError as error:
        raise group.BadInputError(str(error)) from None
    click.echo(f"Wrote {output}.")


def _check_root(runner: str, root: str | None) -> None:
    """Refuses a bad root at once, where the runner would only after importing TFX."""
    mark, example = _ROOTS[runner]
    if root is not None and mark not in root:
        raise group.BadInputError(
            f"--root must be an address that the containers reach, such as {example}. "
            f"Received: --root {root}."
        )


def _check_output(output: pathlib.Path) -> None:
    if not output.absolute().parent.is_dir():
        raise group.BadInputError(
            f"The folder of the file to write does not exist. Received: --output {output}. "
            "Make the folder, or name another file."
        )
