"""`kerasline config`: shows recipes."""

import json

import click

from pipeline import recipe_files, toml_text
from pipeline.cli import options


@click.group("config", short_help="Show what a recipe resolves to.")
def command() -> None:
    """Show what a recipe resolves to.

    \b
    Example:
      kerasline config show digits --set training.num_epochs=3
    """


@command.command("show")
@options.recipe
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of TOML.")
def show(recipe_name: str, set_values: tuple[str, ...], as_json: bool) -> None:
    """Print a recipe with every default filled in and every --set applied.

    The text printed is a recipe again: save it to a file, change it and run that file.

    \b
    Example:
      kerasline config show digits > mine.toml
      kerasline run ./mine.toml
    """
    values = options.load_recipe(recipe_name, set_values).to_dict()
    click.echo(json.dumps(values, indent=2) if as_json else toml_text.dumps(values))


@command.command("list")
def list_recipes() -> None:
    """Print the names of the recipes that come with Kerasline.

    \b
    Example:
      kerasline config list
    """
    for name in recipe_files.shipped_names():
        click.echo(f"{name:<16} {recipe_files.load(name).description}")
