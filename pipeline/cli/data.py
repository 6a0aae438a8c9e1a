"""`kerasline data`: looks at the data of a recipe."""

import pathlib

import click

from pipeline.cli import group, options

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

    Images are drawn, and recordings and series as curves.

    \b
    Example:
      kerasline data preview fashion_mnist --set input.augment.max_rotation_degrees=15.0
    """
    recipe = options.load_recipe(recipe_name, set_values)
    if recipe.data.input_name not in ("image", "audio", "series"):
        raise group.BadInputError(
            "data preview draws images, recordings and series. "
            f"Received: a recipe whose input is data.{recipe.data.input_name}."
        )
    target = output or pathlib.Path(f"{recipe.name}_preview.png")
    # Imported here, because the help must not wait for TensorFlow.
    from components.ingest import cache_location, errors, ingest
    from components.input_pipeline import chain, decoding
    from components.input_pipeline import preview as sheets
    from components.input_pipeline.config import InputConfig

    try:
        dataset = ingest.ingest(recipe.data, seed=recipe.seed, cache_dir=cache_location.cache_dir())
    except errors.DataError as error:
        raise group.BadInputError(str(error)) from None
    shards = [str(dataset.path / shard.path) for shard in dataset.manifest.splits["train"].shards]
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
