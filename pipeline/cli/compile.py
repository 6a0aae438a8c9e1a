"""`kerasline compile`: writes the pipeline as a file for a cluster."""

import importlib
import pathlib

import click

from pipeline.cli import options
from pipeline.config import RunConfig

_RUNNERS = ("kubeflow", "vertex")


@click.command("compile", short_help="Write the pipeline as YAML for Kubeflow or Vertex AI.")
@options.recipe
@click.option(
    "--runner", type=click.Choice(_RUNNERS), required=True, help="Where the file is to run."
)
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=pathlib.Path, dir_okay=False),
    help="The file to write.",
)
@options.root
def command(
    recipe_name: str, set_values: tuple[str, ...], runner: str, output: pathlib.Path, root: str
) -> None:
    """Write the pipeline as YAML for Kubeflow or Vertex AI.

    Works off-line: no cluster, no bucket and no account is touched. The same recipe gives the same
    bytes.

    \b
    Example:
      kerasline compile digits --runner kubeflow --root gs://bucket/runs -o digits.yaml
    """
    recipe = options.load_recipe(recipe_name, set_values)
    if not output.absolute().parent.is_dir():
        raise click.BadParameter(
            f"The folder {output.absolute().parent} does not exist. Make it, or name another file.",
            param_hint="--output",
        )
    click.echo("Compiling, which imports TFX and takes a while ...", err=True)
    module = importlib.import_module(f"pipeline.runners.{runner}")
    module.compile(recipe, RunConfig(root=root), output)
    click.echo(f"Wrote {output}.")
