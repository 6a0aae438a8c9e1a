"""`kerasline batch-find`: rows per second and memory by batch size."""

import click

from pipeline.cli import diagnosis, options

_SIZES = tuple(2**power for power in range(4, 13))


@click.command("batch-find", short_help="Measure batch sizes for speed and memory.")
@options.recipe
def command(recipe_name: str, set_values: tuple[str, ...]) -> None:
    """Measure batch sizes for speed and memory, and name the smallest that is fast enough.

    It ends at the size of the data, or where the estimate exceeds four fifths of the memory.

    \b
    Example:
      kerasline batch-find digits
    """
    with diagnosis.request(recipe_name, set_values) as request:
        from components.trainer.diagnostics import estimate, throughput

        speeds = []
        click.echo(f"{'batch':>8} {'rows/s':>10} {'memory':>10}")
        for speed in throughput.batch_speeds(request, _SIZES):
            speeds.append(speed)
            memory = estimate.format_bytes(speed.bytes_needed)
            click.echo(f"{speed.global_batch_size:>8} {speed.rows_per_sec:>10,.0f} {memory:>10}")
    if not speeds:
        raise click.ClickException(
            f"Not even a batch of {_SIZES[0]} fits the data and the memory of this machine."
        )
    good = throughput.smallest_good(speeds).global_batch_size
    click.echo(
        f"Suggestion: --set training.global_batch_size={good} (the smallest within 5 % of the "
        "fastest). If the rate was found with another size, scale it: "
        "training.optimizer.scale_with_batch."
    )
