"""Exports a Keras model as a SavedModel that TF Serving and `kerasline serve` answer with.

Legend: B batch, K classes, N numbers.
"""

import os
import pathlib
import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from serving.export import (
    atomic_folder,
    classes,
    entries,
    images,
    manifest,
    numbers,
    precision,
    saved_model_file,
    warmup,
)

Requests = list[tuple[str, dict[str, np.ndarray]]]


def export_model(
    model: keras.Model,
    directory: str | os.PathLike[str],
    *,
    class_names: Sequence[str] = (),
    warmup_examples: Sequence[bytes],
    served: entries.ServedInput | None = None,
    recipe: Mapping[str, Any] | None = None,
) -> pathlib.Path:
    """Writes a model as a SavedModel with preprocessing and labels inside.

    Its signatures are those of the input, each with a dynamic batch. A classifier's outputs are
    `probabilities` float32 (B, K), `class_ids` int64 (B,) and `classes` string (B,), and `classify`
    is for TF Serving's Classify method: tf.Examples in, all K classes with their scores out. A
    model of numbers has the output `predictions` float32 (B, N), and, if N is 1, `regress` for TF
    Serving's Regress method.

    Beside them: the class names as an asset, warm-up records for every signature, and the manifest
    `kerasline.json`. The folder appears under its name only when it is whole and on disk.

    Args:
        model: Functional model to `{"logits": (B, K)}` or `{"predictions": (B, N)}`; it is exported
            in float32 even if it was trained in mixed precision.
        directory: The folder to make; it must not exist, or be empty.
        class_names: K names, in the order of the logits; not empty, without line breaks. None for
            a model of numbers.
        warmup_examples: Serialized tf.Examples of real data, at least one.
        served: How the model is asked; None for a model of images, see `images.served_images`.
        recipe: The resolved recipe, stored in the manifest.

    Returns:
        `directory` as a path.

    Raises:
        FileExistsError: If `directory` is there and not empty.
        ValueError: If the model, the names or the warm-up examples do not fit each other.
    """
    served = served or images.images_of(model)
    _check(model, class_names)
    requests = _warmup_requests(warmup_examples, served)
    target = pathlib.Path(directory)
    with atomic_folder.written_aside(target) as partial:
        _write_saved_model(precision.to_float32(model), partial, class_names, served)
        warmup.write_warmup(partial, requests)
        manifest.write_manifest(partial, _facts(class_names, served, recipe))
    return target


def _check(model: keras.Model, class_names: Sequence[str]) -> None:
    if not numbers.predicts_numbers(model):
        classes.check(model, class_names)
    elif class_names:
        raise ValueError(
            "A model of numbers has no classes. "
            f"Received: class_names={list(class_names)}. Leave them out."
        )


def _warmup_requests(examples: Sequence[bytes], served: entries.ServedInput) -> Requests:
    """Makes one request of a single row and one of all rows for each signature."""
    if not examples:
        raise ValueError(
            "At least one warm-up example is needed, so that the first user does not wait. "
            "Received: warmup_examples=[]."
        )
    try:
        values = {
            signature: entry.of_examples(tf.constant(list(examples)))
            for signature, entry in served.entries.items()
        }
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(
            f"Each warm-up example must be a serialized tf.Example {served.example_help}. "
            f"Received: {error.message}"
        ) from error
    sizes = sorted({1, len(examples)})
    return [
        (signature, {name: rows[:size].numpy() for name, rows in by_name.items()})
        for signature, by_name in values.items()
        for size in sizes
    ]


def _write_saved_model(
    model: keras.Model,
    directory: pathlib.Path,
    class_names: Sequence[str],
    served: entries.ServedInput,
) -> None:
    with tempfile.TemporaryDirectory() as asset_dir:
        answers = _answers(model, class_names, pathlib.Path(asset_dir))
        archive = keras.export.ExportArchive()
        for tracked in (model, *answers.tracked, *served.tracked):
            archive.track(tracked)
        ask = {
            signature: _ask_function(model, entry, answers)
            for signature, entry in served.entries.items()
        }
        for signature, entry in served.entries.items():
            archive.add_endpoint(signature, ask[signature], [dict(entry.specs)])

        def method(inputs: tf.Tensor) -> dict[str, tf.Tensor]:
            return answers.method_answer(ask[entries.EXAMPLES]({"examples": inputs}))

        if answers.signature is not None:
            inputs = tf.TensorSpec((None,), tf.string, name="inputs")
            archive.add_endpoint(answers.signature, method, [inputs])
        archive.write_out(str(directory), verbose=False)
    if answers.signature is not None:
        # SavedModels of TF2 call every signature a predict method.
        saved_model_file.set_method_name(directory, answers.signature, answers.method)


def _answers(
    model: keras.Model, class_names: Sequence[str], asset_dir: pathlib.Path
) -> entries.Answers:
    if numbers.predicts_numbers(model):
        return numbers.NumberAnswers(model.output["predictions"].shape[-1])
    return classes.ClassAnswers(class_names, asset_dir)


def _ask_function(
    model: keras.Model, entry: entries.Entry, answers: entries.Answers
) -> Callable[[entries.Values], dict[str, tf.Tensor]]:
    def ask(values: entries.Values) -> dict[str, tf.Tensor]:
        inputs = entry.to_inputs(values)
        if not isinstance(inputs, dict):
            # The one input may be named by a dict or bare.
            inputs = keras.tree.pack_sequence_as(model.input, [inputs])
        return answers.answer(model(inputs, training=False))

    return ask


def _facts(
    class_names: Sequence[str], served: entries.ServedInput, recipe: Mapping[str, Any] | None
) -> dict[str, Any]:
    return {
        **({"class_names": list(class_names)} if class_names else {}),
        **served.facts,
        "recipe": None if recipe is None else dict(recipe),
        "versions": {
            "keras": keras.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "tensorflow": tf.__version__,
        },
    }
