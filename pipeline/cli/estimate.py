"""`kerasline estimate`: the memory that a training needs."""

import click

from pipeline.cli import diagnosis, options


@click.command("estimate", short_help="Estimate the memory that a training needs.")
@options.recipe
@click.option(
    "--replicas",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Devices over which the batch is divided.",
)
def command(recipe_name: str, set_values: tuple[str, ...], replicas: int) -> int:
    """Estimate the memory that a training needs on each device, against what there is.

    Exit status: 0 if it fits, 1 if not.

    \b
    Example:
      kerasline estimate fashion_mnist --set training.global_batch_size=4096
    """
    with diagnosis.request(recipe_name, set_values) as request:
        from components.trainer.diagnostics import estimate

        needed = estimate.estimate(request, num_replicas=replicas)
        levers = needed.levers(request.training)
    click.echo(f"{needed.num_parameters:,} trainable parameters")
    for name in ("parameters", "gradients", "optimizer", "activations", "total", "available"):
        click.echo(f"{name:<12} {estimate.format_bytes(getattr(needed, name)):>12}")
    if needed.total <= needed.available:
        return 0
    click.echo("It does not fit. What saves memory:")
    for lever in levers:
        click.echo(f"- {lever}")
    return 1
