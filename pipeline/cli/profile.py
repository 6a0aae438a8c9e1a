"""`kerasline profile`: where the time of a training step goes."""

import pathlib

import click

from pipeline.cli import diagnosis, options


@click.command("profile", short_help="Measure where the time of a training step goes.")
@options.recipe
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    default=pathlib.Path("profile.png"),
    show_default=True,
    help="PNG file to write.",
)
def command(recipe_name: str, set_values: tuple[str, ...], picture: pathlib.Path) -> None:
    """Measure where the time of a training step goes, with a picture.

    The input runs beside the step; it holds training up only if it takes longer than the step.

    \b
    Example:
      kerasline profile digits --picture digits.png
    """
    with diagnosis.request(recipe_name, set_values) as request:
        from components.trainer.diagnostics import throughput

        measured = throughput.profile(request)
        throughput.draw(measured, picture)
    click.echo(f"{measured.rows_per_sec:,.0f} rows/s. Milliseconds per step:")
    for name, seconds in measured.parts().items():
        click.echo(f"{name:<10} {1e3 * seconds:>9.2f}")
    click.echo(f"{'input':<10} {1e3 * measured.input:>9.2f}  (beside the step)")
    click.echo(f"The step waits for its input {measured.wait_share:.1%} of the time.")
    click.echo(f"The picture is {picture}.")
