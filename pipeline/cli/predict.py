"""`kerasline predict`: asks a model about files, texts or rows."""

import json
import pathlib
from collections.abc import Sequence
from typing import Any

import click

from pipeline import prediction
from pipeline.cli import group
from pipeline.questions import PredictionError
from serving.export import image_files


@click.command("predict", short_help="Ask a model about files, texts or rows.")
@click.option(
    "--model",
    "model_folder",
    required=True,
    type=click.Path(path_type=pathlib.Path),
    help="Folder of a SavedModel, or of its numbered versions, of which the highest answers.",
)
@click.option("--image", multiple=True, help=f"{image_files.FORMATS} file. Repeatable.")
@click.option("--audio", multiple=True, help="WAV file. Repeatable.")
@click.option("--text", multiple=True, help="Text. Repeatable.")
@click.option(
    "--row",
    multiple=True,
    help="Row of a table, or the history of a series, as a JSON object, or @FILE that holds it; a "
    "column that is left out is missing. Repeatable.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How many of the likeliest classes to name.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(model_folder: pathlib.Path, top: int, as_json: bool, **given: Sequence[str]) -> None:
    """Ask a model about files, texts or rows.

    The answer comes from the SavedModel itself, with the preprocessing inside it: the same that a
    server gives.

    \b
    Example:
      kerasline predict --model runs/digits/published --image digit.png --top 1
      kerasline predict --model runs/taxi/published --row '{"trip_miles": 2.1, "fare": 9.5}'
      kerasline predict --model runs/demand/published --row @history.json
    """
    asked = [(f"--{kind}", value) for kind, values in given.items() for value in values]
    if not asked:
        options = ", ".join(f"--{kind}" for kind in given)
        raise click.UsageError(f"Missing option: one of {options}.")
    try:
        model_dir = prediction.find_model(model_folder)
        found = prediction.predict(model_dir, asked, top=top)
    except PredictionError as error:
        raise group.BadInputError(str(error)) from None
    click.echo(_as_json(model_dir, found) if as_json else _as_text(found))


def _as_json(model_dir: pathlib.Path, found: Sequence[prediction.Prediction]) -> str:
    items = [{item.question.kind: item.question.given, **_answer(item)} for item in found]
    return json.dumps({"model": str(model_dir), "predictions": items}, indent=2)


def _answer(item: prediction.Prediction) -> dict[str, Any]:
    if item.numbers:
        return {"numbers": list(item.numbers)}
    return {
        "classes": [
            {"name": name, "probability": probability} for name, probability in item.classes
        ]
    }


def _as_text(found: Sequence[prediction.Prediction]) -> str:
    lines = []
    for item in found:
        answers = [f"{name} {probability:.1%}" for name, probability in item.classes]
        answers += [f"{number:.6g}" for number in item.numbers]
        lines.append(f"{item.question.given}: {', '.join(answers)}")
    return "\n".join(lines)
