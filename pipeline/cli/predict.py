"""`kerasline predict`: asks a model about image files."""

import json
import pathlib
from collections.abc import Sequence

import click

from pipeline import prediction
from pipeline.cli import group


@click.command("predict", short_help="Ask a model about image files.")
@click.option(
    "--model",
    "model_folder",
    required=True,
    type=click.Path(path_type=pathlib.Path),
    help="Folder of a SavedModel, or of its numbered versions, of which the highest answers.",
)
@click.option(
    "--image",
    "images",
    required=True,
    multiple=True,
    type=click.Path(path_type=pathlib.Path),
    help="PNG, JPEG, GIF or BMP file. Repeatable.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How many of the likeliest classes to name.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    model_folder: pathlib.Path, images: Sequence[pathlib.Path], top: int, as_json: bool
) -> None:
    """Ask a model about image files.

    The answer comes from the SavedModel itself, with the preprocessing inside it: the same that a
    server gives.

    \b
    Example:
      kerasline predict --model runs/digits/published --image digit.png --top 1
    """
    try:
        model_dir = prediction.find_model(model_folder)
        found = prediction.predict(model_dir, images, top=top)
    except prediction.PredictionError as error:
        raise group.BadInputError(str(error)) from None
    click.echo(_as_json(model_dir, found) if as_json else _as_text(found))


def _as_json(model_dir: pathlib.Path, found: Sequence[prediction.Prediction]) -> str:
    return json.dumps(
        {
            "model": str(model_dir),
            "predictions": [
                {
                    "image": item.image,
                    "classes": [
                        {"name": name, "probability": probability}
                        for name, probability in item.classes
                    ],
                }
                for item in found
            ],
        },
        indent=2,
    )


def _as_text(found: Sequence[prediction.Prediction]) -> str:
    lines = []
    for item in found:
        classes = ", ".join(f"{name} {probability:.1%}" for name, probability in item.classes)
        lines.append(f"{item.image}: {classes}")
    return "\n".join(lines)
