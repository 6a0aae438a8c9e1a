"""`kerasline train`: trains a recipe's model alone, without TFX."""

import pathlib
import shutil
import tempfile

import click

from components.ingest import errors
from pipeline import training
from pipeline.cli import group, options
from pipeline.config import Recipe, RunConfig


@click.command("train", short_help="Train alone: no gates, no publishing.")
@options.recipe
@options.root
@options.strategy
@options.data_service
@options.trackers
@click.option(
    "--out",
    "out",
    type=click.Path(file_okay=False, path_type=pathlib.Path),
    help="Folder of log, checkpoints and model; ROOT/RECIPE/train if left out.",
)
@click.option("--fresh", is_flag=True, help="Forget what is in the folder and begin anew.")
@click.option(
    "--fast-dev-run", is_flag=True, help="One batch of everything, in a folder that is removed."
)
def command(
    recipe_name: str,
    set_values: tuple[str, ...],
    root: str,
    strategy: str,
    data_service: str | None,
    trackers: tuple[str, ...],
    out: pathlib.Path | None,
    fresh: bool,
    fast_dev_run: bool,
) -> None:
    """Train a recipe's model alone: no gates, no publishing.

    The same command goes on where an interrupted one stopped, and ends with the same weights, bit
    for bit. SIGTERM saves and exits with status 143.

    \b
    Example:
      kerasline train digits
      kerasline train fashion_mnist --fast-dev-run
    """
    recipe = options.load_recipe(recipe_name, set_values)
    run_config = options.load_run_config(
        recipe_name,
        recipe,
        root=root,
        strategy=strategy,
        data_service=data_service,
        trackers=list(trackers),
    )
    try:
        if fast_dev_run:
            with tempfile.TemporaryDirectory() as scratch:
                _train(_one_batch(recipe), run_config, pathlib.Path(scratch), max_batches=1)
            click.echo("Every part ran on one batch; nothing was kept.")
            return
        directory = out or pathlib.Path(root) / recipe.name / "train"
        if fresh and directory.exists():
            shutil.rmtree(directory)
        if _train(recipe, run_config, directory):
            click.echo(f"The model is {directory / training.KERAS_MODEL_FILE}.")
    except (errors.DataError, ValueError) as error:
        raise group.BadInputError(f"recipe {recipe_name}: {error}") from None


def _train(
    recipe: Recipe,
    run_config: RunConfig,
    directory: pathlib.Path,
    *,
    max_batches: int | None = None,
) -> bool:
    """Trains, and returns whether this process is the one of its cluster that keeps the model."""
    request = training.make_request(
        recipe,
        strategy=run_config.strategy,
        directory=directory,
        trackers=() if max_batches else run_config.trackers,
    )
    # Imported here, because it imports TensorFlow, and `--help` must answer at once.
    import dataclasses

    from components.trainer import health, memory

    request = dataclasses.replace(
        request, max_batches=max_batches, data_service=run_config.data_service
    )
    try:
        with training.printed_events(click.echo):
            result = memory.train_or_explain(request)
    except (health.TrainingDivergedError, memory.OutOfMemoryError) as error:
        raise click.ClickException(str(error)) from None
    with tempfile.TemporaryDirectory() as scratch:
        # Every worker must save, because reading a weight may take all of them.
        kept = directory if result.is_writer else pathlib.Path(scratch)
        result.model.save(kept / training.KERAS_MODEL_FILE)
    return result.is_writer


def _one_batch(recipe: Recipe) -> Recipe:
    """Returns the recipe for one step: without what needs several epochs to make sense."""
    settings = recipe.training.to_dict()
    settings.pop("early_stopping", None)
    settings.update(num_epochs=1, schedule={"name": "constant", "warmup_steps": 0})
    values = {**recipe.to_dict(), "training": settings}
    return Recipe.from_dict(values)
