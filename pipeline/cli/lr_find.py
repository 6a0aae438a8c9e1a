"""`kerasline lr-find`: the learning-rate range test."""

import pathlib

import click

from pipeline.cli import diagnosis, options


@click.command("lr-find", short_help="Find a learning rate, with a picture.")
@options.recipe
@click.option("--lowest", type=float, default=1e-6, show_default=True, help="First rate.")
@click.option("--highest", type=float, default=1.0, show_default=True, help="Last rate.")
@click.option("--steps", type=int, default=100, show_default=True, help="Steps in between.")
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    default=pathlib.Path("lr-find.png"),
    show_default=True,
    help="PNG file to write.",
)
def command(
    recipe_name: str,
    set_values: tuple[str, ...],
    lowest: float,
    highest: float,
    steps: int,
    picture: pathlib.Path,
) -> None:
    """Find a learning rate, with a picture of loss against rate.

    The rate grows with every step until the loss explodes. The suggestion is meant as the peak of a
    schedule; try it and a third of it.

    \b
    Example:
      kerasline lr-find digits --picture digits.png
    """
    with diagnosis.request(recipe_name, set_values) as request:
        from components.trainer.diagnostics import rate_range

        result = rate_range.range_test(request, lowest=lowest, highest=highest, num_steps=steps)
        rate_range.draw(result, picture)
    click.echo(f"Steps: {len(result.rates_S)}. The picture is {picture}.")
    click.echo(f"Suggestion: --set training.optimizer.learning_rate={result.suggestion:.1e}")
