"""`kerasline init`: writes a recipe for a folder of images or a file of rows."""

import pathlib
from collections.abc import Mapping

import click

from pipeline.cli import group


@click.command("init", short_help="Write a recipe for a folder of images or a file of rows.")
@click.argument("path", type=click.Path(path_type=pathlib.Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    help="The file to write; NAME.toml by default.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if there is one.")
@click.option("--label", help="The column of classes to predict, of a file of rows.")
@click.option("--target", help="The column of numbers to predict, of a file of rows.")
@click.option("--time", help="The column of times, of a series to forecast.")
@click.option("--value", help="The column to forecast; goes with --time.")
def command(
    path: pathlib.Path, output: pathlib.Path | None, force: bool, **answers: str | None
) -> None:
    """Write a recipe for a folder of images or a file of rows.

    The folder holds a folder per class, or folders named train, validation and test with a folder
    per class in each. The file is CSV, Parquet, Arrow or JSON lines. The recipe is commented and
    can be run at once. Nothing is asked.

    \b
    Example:
      kerasline init ~/photos
      kerasline init ~/trips.csv --label big_tipper
      kerasline init ~/demand.parquet --time time --value demand
      kerasline run ./photos.toml
    """
    _check_options(path, answers)
    # Imported here, because the help must not wait for an image library.
    from components.ingest import errors
    from pipeline import recipe_draft

    folder = path.expanduser().absolute()
    name = recipe_draft.recipe_name(folder.with_suffix("") if folder.is_file() else folder)
    target = output or pathlib.Path(f"{name}.toml")
    if target.exists() and not force:
        raise group.BadInputError(
            f"{target} is there already. Choose another file with -o, or overwrite it with --force."
        )
    try:
        summary, text = (_draft_file if folder.is_file() else _draft_folder)(folder, name, answers)
        target.write_text(text, encoding="utf-8")
    except errors.DataError as error:
        raise group.BadInputError(str(error)) from None
    except OSError as error:
        raise group.BadInputError(f"{target} cannot be written: {error.strerror}.") from None
    click.echo(f"{summary} -> {target}")
    click.echo(f"Next: kerasline run {target if target.is_absolute() else f'./{target}'}")


def _check_options(path: pathlib.Path, answers: Mapping[str, str | None]) -> None:
    given = [name for name, value in answers.items() if value is not None]
    if given and not path.expanduser().is_file():
        raise group.BadInputError(f"--{given[0]} needs a file of rows. Received: {path}.")
    if given not in ([], ["label"], ["target"], ["time", "value"]):
        raise group.BadInputError(
            "Give --label, or --target, or --time and --value. "
            f"Received: {', '.join(f'--{name}' for name in given)}."
        )


def _draft_folder(
    folder: pathlib.Path, name: str, answers: Mapping[str, str | None]
) -> tuple[str, str]:
    from components.ingest import survey
    from pipeline import recipe_draft

    found = survey.survey_folder(
        folder,
        validation_share=recipe_draft.VALIDATION_SHARE,
        test_share=recipe_draft.TEST_SHARE,
    )
    summary = f"{found.num_images} images, {len(found.class_counts)} classes"
    return summary, recipe_draft.draft_recipe(found, name=name)


def _draft_file(
    path: pathlib.Path, name: str, answers: Mapping[str, str | None]
) -> tuple[str, str]:
    from components.ingest import table_survey
    from pipeline import table_draft

    found = table_survey.survey_table(path)
    summary = f"{found.num_rows} rows, {len(found.columns)} columns"
    time, value = answers["time"], answers["value"]
    if time is not None and value is not None:
        return summary, table_draft.draft_series(found, path, name=name, time=time, value=value)
    return summary, table_draft.draft_table(
        found, path, name=name, label=answers["label"], target=answers["target"]
    )
