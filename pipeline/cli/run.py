"""`kerasline run`: runs a recipe on this machine."""

import shlex

import click

from components.ingest import errors
from pipeline import local_run, recipe_files
from pipeline.cli import group, main, options
from pipeline.progress import closing
from pipeline.state import workspace

_EXIT = {
    "published": 0,
    "up_to_date": 0,
    "gate_refused": main.EXIT_GATE_REFUSED,
    "interrupted": main.EXIT_INTERRUPTED,
    "failed": 1,
}


@click.command("run", short_help="Run a recipe: from the data to a published model.")
@options.recipe
@options.root
@options.strategy
@options.data_service
@options.trackers
@options.beam_options
@click.option("--force", is_flag=True, help="Run every step, even where nothing changed.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, last.")
def command(
    recipe_name: str,
    set_values: tuple[str, ...],
    root: str,
    strategy: str,
    data_service: str | None,
    trackers: tuple[str, ...],
    beam_options: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> int:
    """Run a recipe: from the data to a published model.

    RECIPE is a shipped name (see `kerasline config list`) or the path of a TOML file; fashion_mnist
    if left out. The model is published only if every gate lets it pass. If nothing changed since it
    was last published, nothing runs.

    \b
    Example:
      kerasline run
      kerasline run digits --set training.num_epochs=5 --json

    Exit status: 0 published or unchanged, 2 bad recipe or arguments, 3 a gate refused,
    130 interrupted, 1 anything else.
    """
    recipe = options.load_recipe(recipe_name, set_values)
    run_config = options.load_run_config(
        recipe_name,
        recipe,
        root=root,
        strategy=strategy,
        data_service=data_service,
        trackers=list(trackers),
        beam_options=list(beam_options),
    )
    try:
        summary = local_run.run(recipe, run_config, force=force)
    except errors.DataError as error:
        raise group.BadInputError(f"recipe {recipe_name}: {error}") from None
    except workspace.WorkspaceError as error:
        raise click.ClickException(str(error)) from None
    place = ["--root", root] if root != options.DEFAULT_ROOT else []
    program = options.program()
    again = shlex.join([program, "run", *_recipe_words(recipe_name, set_values), *place])
    serve = shlex.join([program, "serve", recipe.name, *place])
    text = closing.text(summary, recipe.evaluation, again=again, serve=serve)
    click.echo(text, err=as_json)
    if as_json:
        click.echo(summary.to_json())
    return _EXIT[summary.status]


def _recipe_words(recipe_name: str, set_values: tuple[str, ...]) -> list[str]:
    words = [recipe_name] if recipe_name != recipe_files.DEFAULT_RECIPE else []
    return words + [word for value in set_values for word in ("--set", value)]
