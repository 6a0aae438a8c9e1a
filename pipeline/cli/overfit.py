"""`kerasline overfit`: whether the network can learn one batch by heart."""

import click

from pipeline.cli import diagnosis, options


@click.command("overfit", short_help="Check that the network learns one batch by heart.")
@options.recipe
@click.option(
    "--max-steps", type=click.IntRange(min=1), default=500, show_default=True, help="When to stop."
)
def command(recipe_name: str, set_values: tuple[str, ...], max_steps: int) -> int:
    """Check that the network learns one batch by heart.

    A network that cannot will not learn the whole set either; the check takes seconds. Exit status:
    0 if it learned the batch, 1 if not.

    \b
    Example:
      kerasline overfit digits
    """
    with diagnosis.request(recipe_name, set_values) as request:
        from components.trainer.diagnostics import overfit

        result = overfit.overfit(request, max_steps=max_steps)
    click.echo(result.sentence())
    return 0 if result.has_passed else 1
