"""Training without TFX: from a recipe to a request, and the events of the run as plain lines.

Importing this module does not import TensorFlow.
"""

import contextlib
import json
import os
import pathlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from components.ingest import cache_location, ingest
from components.trainer import request as train_request
from components.transform.config import FITTED_INPUTS
from components.transform.fitted import AnyFitted
from pipeline.config import Recipe

KERAS_MODEL_FILE = "model.keras"


def make_request(
    recipe: Recipe, *, strategy: str, directory: pathlib.Path, trackers: tuple[str, ...] = ()
) -> train_request.TrainRequest:
    """Ingests the data, unless that was done before, and joins it with the recipe.

    Args:
        recipe: What is learned.
        strategy: How it is spread over devices.
        directory: Log and checkpoints of the run.
        trackers: Where it is recorded besides.

    Raises:
        components.ingest.errors.DataError: If the data cannot be read or contradicts the recipe.
        ValueError: If the training split has nothing to learn a column or a vocabulary of.
    """
    cache_dir = cache_location.cache_dir()
    dataset = ingest.ingest(recipe.data, seed=recipe.seed, cache_dir=cache_dir)
    train_files = _shards(dataset.path, "train")
    return train_request.TrainRequest(
        data=recipe.data,
        input=recipe.input,
        model=recipe.model,
        training=recipe.training,
        seed=recipe.seed,
        name=recipe.name,
        trackers=trackers,
        strategy=strategy,
        train_files=train_files,
        validation_files=_shards(dataset.path, "validation"),
        directory=directory,
        fitted=_fit(recipe, train_files),
        cache_dir=cache_dir,
    )


def _fit(recipe: Recipe, train_files: tuple[str, ...]) -> AnyFitted | None:
    if recipe.data.input_name not in FITTED_INPUTS:
        return None
    # Imported here, because it imports TensorFlow.
    from components.transform import fit

    return fit.fit(train_files, recipe.data)


@contextlib.contextmanager
def printed_events(write: Callable[[str], None]) -> Iterator[None]:
    """Prints what the run in the body reports, one line for each event.

    Args:
        write: Takes a line; called from another thread.
    """
    read_end, write_end = os.pipe()
    before = os.environ.get("KERASLINE_PROGRESS_FD")
    os.environ["KERASLINE_PROGRESS_FD"] = str(write_end)
    reader = threading.Thread(target=_print_lines, args=(read_end, write), daemon=True)
    reader.start()
    try:
        yield
    finally:
        if before is None:
            del os.environ["KERASLINE_PROGRESS_FD"]
        else:
            os.environ["KERASLINE_PROGRESS_FD"] = before
        os.close(write_end)
        reader.join()


def event_line(event: dict[str, Any]) -> str:
    """Writes an event for people; an empty text for one that says nothing here.

    >>> event_line({"event": "message", "text": "Training goes on."})
    'Training goes on.'
    """
    if event["event"] == "message":
        return str(event["text"])
    if event["event"] != "epoch":
        return ""
    values = dict(event["metrics"])
    rows_per_sec = values.pop("rows_per_sec")
    values.pop("learning_rate", None)
    shown = "  ".join(f"{name} {value:.4f}" for name, value in values.items())
    return (
        f"epoch {event['epoch']}/{event['num_epochs']}  {shown}  {rows_per_sec:,.0f} rows/s  "
        f"{event['seconds']:.1f} s"
    )


def _print_lines(read_end: int, write: Callable[[str], None]) -> None:
    with os.fdopen(read_end) as lines:
        for line in lines:
            text = event_line(json.loads(line))
            if text:
                write(text)


def _shards(dataset: pathlib.Path, split: str) -> tuple[str, ...]:
    return tuple(sorted(str(path) for path in (dataset / f"Split-{split}").iterdir()))
