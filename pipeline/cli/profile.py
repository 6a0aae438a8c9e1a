"""`kerasline profile`: where the time of a training step goes."""

import functools
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
@click.option(
    "--input", "input_alone", is_flag=True, help="Measure the input alone, after each stage."
)
def command(
    recipe_name: str, set_values: tuple[str, ...], picture: pathlib.Path, input_alone: bool
) -> None:
    """Measure where the time of a training step goes, with a picture.

    The input runs beside the step; it holds training up only if it takes longer than the step.

    \b
    Example:
      kerasline profile digits --picture digits.png
      kerasline profile fashion_mnist --input
    """
    if input_alone:
        _profile_input(recipe_name, set_values, picture)
        return
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


def _profile_input(recipe_name: str, set_values: tuple[str, ...], picture: pathlib.Path) -> None:
    with diagnosis.request(recipe_name, set_values) as request:
        from components.input_pipeline import stage_speed
        from components.trainer import batches

        speeds = stage_speed.measure(
            functools.partial(batches.train_stages, request),
            request.input,
            kind=request.data.input_name,
        )
        stage_speed.draw(speeds, picture)
    click.echo("Rows per second after each stage, and microseconds that it adds to a row:")
    costs = speeds.costs_us()
    for name, rate in speeds.rows_per_sec.items():
        click.echo(f"{name:<10} {rate:>12,.0f} {costs[name]:>9.2f}")
    click.echo(speeds.advice)
    click.echo(f"The picture is {picture}.")
