"""`kerasline init`: writes a recipe for a folder of images."""

import pathlib

import click

from pipeline.cli import group


@click.command("init", short_help="Write a recipe for a folder of images.")
@click.argument("path", type=click.Path(path_type=pathlib.Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    help="The file to write; NAME.toml by default.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if there is one.")
def command(path: pathlib.Path, output: pathlib.Path | None, force: bool) -> None:
    """Write a recipe for a folder of images.

    The folder holds a folder per class, or folders named train, validation and test with a folder
    per class in each. The recipe is commented and can be run at once. Nothing is asked.

    \b
    Example:
      kerasline init ~/photos
      kerasline run ./photos.toml
    """
    # Imported here, because the help must not wait for an image library.
    from components.ingest import errors, survey
    from pipeline import recipe_draft

    folder = path.expanduser().absolute()
    name = recipe_draft.recipe_name(folder)
    target = output or pathlib.Path(f"{name}.toml")
    if target.exists() and not force:
        raise group.BadInputError(
            f"{target} is there already. Choose another file with -o, or overwrite it with --force."
        )
    try:
        found = survey.survey_folder(
            folder,
            validation_share=recipe_draft.VALIDATION_SHARE,
            test_share=recipe_draft.TEST_SHARE,
        )
        target.write_text(recipe_draft.draft_recipe(found, name=name), encoding="utf-8")
    except errors.DataError as error:
        raise group.BadInputError(str(error)) from None
    except OSError as error:
        raise group.BadInputError(f"{target} cannot be written: {error.strerror}.") from None
    click.echo(f"{found.num_images} images, {len(found.class_counts)} classes -> {target}")
    click.echo(f"Next: kerasline run {target if target.is_absolute() else f'./{target}'}")
