"""`kerasline init`: writes a recipe for a folder of images or recordings, or a file of rows."""

import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from pipeline import config_errors
from pipeline.cli import group

if TYPE_CHECKING:
    from components.ingest.table_survey import TableSurvey
    from pipeline.drafts.parts import Draft


@click.command("init", short_help="Write a recipe for a folder of files or a file of rows.")
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
@click.option("--group", help="The column whose equal rows stay in one split, such as a customer.")
@click.option("--time", help="The column of times, of a series to forecast.")
@click.option("--value", help="The column to forecast, of a series.")
def command(
    path: pathlib.Path, output: pathlib.Path | None, force: bool, **answers: str | None
) -> None:
    """Write a recipe for a folder of images or recordings, or for a file of rows.

    The folder holds a folder per class, or folders named train, validation and test with a folder
    per class in each. The file is CSV, Parquet, Arrow, JSON lines, TFRecord or NumPy. The recipe
    is commented, was tried on the data, which lie in the cache then, and can be run at once.
    Nothing is asked.

    \b
    Example:
      kerasline init ~/photos
      kerasline init ~/trips.csv --label big_tipper
      kerasline init ~/demand.parquet --value demand
      kerasline run ./photos.toml
    """
    _check_options(path, answers)
    # Imported here, because the help must not wait for an image library.
    from components.ingest import cache_location, errors
    from pipeline.drafts import parts, trial

    path = path.expanduser().absolute()
    name = parts.recipe_name(path.with_suffix("") if path.is_file() else path)
    target = output or pathlib.Path(f"{name}.toml")
    if target.exists() and not force:
        raise group.BadInputError(
            f"{target} is there already. Choose another file with -o, or overwrite it with --force."
        )
    try:
        draft = (_draft_file if path.is_file() else _draft_folder)(path, name, answers)
        settled = trial.settle(draft, cache_location.cache_dir())
        target.write_text(settled.text, encoding="utf-8")
    except (errors.DataError, config_errors.ConfigError) as error:
        raise group.BadInputError(str(error)) from None
    except OSError as error:
        raise group.BadInputError(f"{target} cannot be written: {error.strerror}.") from None
    click.echo(f"{draft.summary} -> {target}")
    for note in settled.notes:
        click.echo(f"  {note}")
    click.echo(f"Next: kerasline run {target if target.is_absolute() else f'./{target}'}")


def _check_options(path: pathlib.Path, answers: Mapping[str, str | None]) -> None:
    given = [name for name, value in answers.items() if value is not None]
    if given and not path.expanduser().is_file():
        raise group.BadInputError(f"--{given[0]} needs a file of rows. Received: {path}.")
    kinds = [{"label", "group"}, {"target", "group"}, {"time", "value"}]
    if not any(set(given) <= kind for kind in kinds):
        raise group.BadInputError(
            "Give --label or --target, with --group if rows belong together, or --time and "
            f"--value. Received: {', '.join(f'--{name}' for name in given)}."
        )


def _draft_folder(folder: pathlib.Path, name: str, answers: Mapping[str, str | None]) -> "Draft":
    from components.ingest import recording_survey, survey
    from pipeline.drafts import images, machine, parts, recordings

    shares = {"validation_share": parts.VALIDATION_SHARE, "test_share": parts.TEST_SHARE}
    here = machine.look()
    if recording_survey.holds_recordings(folder):
        heard = recording_survey.survey_recordings(folder, **shares)
        return recordings.RecordingsDraft(heard, name=name, machine=here)
    seen = survey.survey_folder(folder, **shares)
    return images.ImagesDraft(seen, name=name, machine=here)


def _draft_file(path: pathlib.Path, name: str, answers: Mapping[str, str | None]) -> "Draft":
    from components.ingest import step_survey, table_survey
    from pipeline.drafts import machine, series, table_parts, tables

    found = table_survey.survey_table(path)
    label, target, of_group = answers["label"], answers["target"], answers["group"]
    time, value = answers["time"], answers["value"]
    for column in (time, value):
        if column is not None:
            table_parts.check_column(found, column)
    here = machine.look()
    pictures = [key for key, column in found.columns.items() if column.kind == "image"]
    if pictures and not (target or of_group or time or value):
        return _draft_images(found, path, name, pictures[0], label)
    if not (label or target or of_group):
        steps = step_survey.find_steps(found, time or table_survey.find_time_column(found))
        if steps is None and (time or value):
            steps = table_parts.only_series(found, time)
        has_numbers = any(column.kind == "number" for column in found.columns.values())
        if steps is not None and (has_numbers or time or value):
            return series.SeriesDraft(
                found, path, name=name, machine=here, steps=steps, value=value
            )
    return tables.TableDraft(
        found, path, name=name, machine=here, label=label, target=target, group=of_group
    )


def _draft_images(
    found: "TableSurvey", path: pathlib.Path, name: str, picture: str, label: str | None
) -> "Draft":
    from components.ingest import survey
    from pipeline.drafts import images, machine, table_parts, tables

    answer = label or tables.choose_answer(found, None)
    table_parts.check_column(found, answer)
    counts = found.columns[answer].counts
    seen = survey.survey_contents(
        path,
        [content for content in found.arrays[picture].to_pylist() if content],
        {text: counts[text] for text in tables.class_names(found, answer)},
        has_test_split=found.has_test_arrays,
    )
    origin = images.Origin(found.source_kind, picture, answer)
    return images.ImagesDraft(seen, name=name, machine=machine.look(), origin=origin)
