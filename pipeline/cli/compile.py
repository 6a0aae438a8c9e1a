"""`kerasline compile`: writes the pipeline as a file for a cluster."""

import importlib
import pathlib

import click

from pipeline.cli import group, options
from pipeline.config import RunConfig
from pipeline.runners import narrow_imports

# Runner -> how its root must begin or what it must hold, and the root that stands in for one.
_ROOTS = {
    "kubeflow": ("://", "s3://your-bucket/kerasline"),
    "vertex": ("gs://", "gs://your-bucket/kerasline"),
}


@click.command("compile", short_help="Write the pipeline as YAML for Kubeflow or Vertex AI.")
@options.recipe
@click.option(
    "--runner", type=click.Choice(tuple(_ROOTS)), required=True, help="Where the file is to run."
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
    help="Address that every container reaches, for what the steps make, such as s3://bucket/runs "
    "or, for Vertex AI, gs://bucket/runs. A placeholder if left out.",
)
@click.option(
    "--image",
    default=RunConfig.model_fields["image"].default,
    show_default=True,
    help="Container image that the steps run in.",
)
@options.strategy
def command(
    recipe_name: str,
    set_values: tuple[str, ...],
    runner: str,
    output: pathlib.Path,
    root: str | None,
    image: str,
    strategy: str,
) -> None:
    """Write the pipeline as YAML for Kubeflow or Vertex AI.

    Works off-line: no cluster, no bucket and no account is touched. The same recipe gives the same
    bytes.

    \b
    Example:
      kerasline compile digits --runner vertex --root gs://bucket/runs -o digits.yaml
    """
    recipe = options.load_recipe(recipe_name, set_values)
    _check(runner, root, output)
    placeholder = _ROOTS[runner][1]
    run_config = options.load_run_config(
        recipe_name, recipe, root=root or placeholder, image=image, strategy=strategy
    )
    click.echo("Compiling; importing TFX takes a while ...", err=True)
    narrow_imports.install()
    module = importlib.import_module(f"pipeline.runners.{runner}")
    module.compile(recipe, run_config, output)
    click.echo(f"Wrote {output}.")
    if root is None:
        click.echo(f"Its root is the placeholder {placeholder}: name yours with --root.", err=True)


def _check(runner: str, root: str | None, output: pathlib.Path) -> None:
    """Refuses bad arguments at once, where the runner would only after importing TFX."""
    mark, example = _ROOTS[runner]
    if root is not None and mark not in root:
        raise group.BadInputError(
            f"--root must be an address that the containers reach, such as {example}. "
            f"Received: --root {root}."
        )
    if not output.absolute().parent.is_dir():
        raise group.BadInputError(
            f"The folder of the file to write does not exist. Received: --output {output}. "
            "Make the folder, or name another file."
        )
