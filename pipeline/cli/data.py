"""`kerasline data`: looks at the data of a recipe."""

import pathlib
import types
from collections.abc import Callable
from typing import Any

import click

from components.ingest import cache_location, errors, ingest
from pipeline import example_input
from pipeline.cli import group, options
from pipeline.config import Recipe

_NUM_EXAMPLES = 8


@click.group("data", short_help="Look at the data of a recipe.")
def command() -> None:
    """Look at the data of a recipe.

    \b
    Example:
      kerasline data preview fashion_mnist
    """


@command.command("preview")
@options.recipe
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    help="The PNG file to write; NAME_preview.png by default.",
)
def preview(recipe_name: str, set_values: tuple[str, ...], output: pathlib.Path | None) -> None:
    """Draw training examples as they are, and as each augmentation of the recipe changes them.

    Images are drawn, and recordings and series as curves. Texts and rows of a table are printed
    beside their answers, texts as each augmentation changes them too, and no file is written.

    \b
    Example:
      kerasline data preview fashion_mnist --set input.augment.max_rotation_degrees=15.0
    """
    recipe = options.load_recipe(recipe_name, set_values)
    try:
        dataset = ingest.ingest(recipe.data, seed=recipe.seed, cache_dir=cache_location.cache_dir())
    except errors.DataError as error:
        raise group.BadInputError(str(error)) from None
    if recipe.data.input_name in ("text", "table"):
        found = example_input.rows(recipe.data, dataset.path, split="train", count=_NUM_EXAMPLES)
        click.echo("\n".join(found))
        if "text" in recipe.input.augmented_kinds():
            _print_changed([line.partition(": ")[2] for line in found], recipe)
        return
    target = output or pathlib.Path(f"{recipe.name}_preview.png")
    train = dataset.manifest.splits["train"]
    _draw(recipe, [str(dataset.path / shard.path) for shard in train.shards], target)


def _print_changed(texts: list[str], recipe: Recipe) -> None:
    # Imported here, because the help must not wait for TensorFlow.
    from components.input_pipeline import text_preview

    changed = text_preview.changed_texts(texts, recipe.input, seed=recipe.seed)
    for title, lines in changed.items():
        click.echo("\n".join([f"\n{title}", *lines]))


def _draw(recipe: Recipe, shards: list[str], target: pathlib.Path) -> None:
    # Imported here, because the help must not wait for TensorFlow.
    from components.input_pipeline import chain, decoding
    from components.input_pipeline import preview as sheets
    from components.input_pipeline.config import InputConfig

    num_examples = min(_NUM_EXAMPLES, chain.count_examples(shards))
    decode = decoding.Decoder(recipe.data)
    batches = chain.train_dataset(
        shards,
        decode=decode,
        input_config=InputConfig(cache="none"),
        global_batch_size=num_examples,
        seed=recipe.seed,
        num_steps=1,
    )
    examples, answers = next(batches.as_numpy_iterator())
    sheet = sheets.draw_sheet(examples, answers, recipe.input, decode.inputs, seed=recipe.seed)
    try:
        sheet.save(target, "PNG")
    except OSError as error:
        raise group.BadInputError(f"{target} cannot be written: {error.strerror}.") from None
    click.echo(f"{num_examples} training examples -> {target}")


@command.group("service")
def service() -> None:
    """Make training batches on other processes or machines (tf.data service).

    Start one dispatcher, then workers wherever the shards can be read under the same paths, then
    train with --data-service.

    \b
    Example:
      kerasline data service dispatcher --port 5050
      kerasline data service worker --dispatcher localhost:5050
      kerasline train fashion_mnist --data-service localhost:5050
    """


@service.command("dispatcher")
@click.option("--port", default=5050, show_default=True, help="Where it listens; 0 is any.")
def dispatcher(port: int) -> None:
    """Run the process that gives steps to workers, until it is stopped."""
    # Imported here, because the help must not wait for TensorFlow.
    from components.input_pipeline import service as services

    _serve(services, lambda: services.run_dispatcher(port))


@service.command("worker")
@click.option("--dispatcher", required=True, metavar="HOST:PORT", help="Its dispatcher.")
@click.option("--port", default=0, show_default=True, help="Where it listens; 0 is any.")
@click.option(
    "--host", default="localhost", show_default=True, help="This machine, as trainers reach it."
)
def worker(dispatcher: str, port: int, host: str) -> None:
    """Run a process that makes batches, until it is stopped."""
    # Imported here, because the help must not wait for TensorFlow.
    from components.input_pipeline import service as services

    try:
        services.check(dispatcher)
    except ValueError as error:
        raise group.BadInputError(str(error)) from None
    _serve(services, lambda: services.run_worker(dispatcher, port=port, host=host))


def _serve(services: types.ModuleType, start: Callable[[], Any]) -> None:
    try:
        server = start()
    except services.ServiceError as error:
        raise group.BadInputError(str(error)) from None
    click.echo(f"listening on port {services.port_of(server)}")
    server.join()
