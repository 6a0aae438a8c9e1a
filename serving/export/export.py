"""Exports a Keras model as a SavedModel that TF Serving and `kerasline serve` answer with.

Legend: B batch, H height, W width, C channels, K classes.
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
    manifest,
    precision,
    preprocessing,
    saved_model_file,
    warmup,
)

_IMAGE_FEATURE = "image"
_LABELS_FILE = "class_names.txt"
_CLASSIFY_METHOD = "tensorflow/serving/classify"


def export_model(
    model: keras.Model,
    directory: str | os.PathLike[str],
    *,
    class_names: Sequence[str],
    warmup_examples: Sequence[bytes],
    recipe: Mapping[str, Any] | None = None,
) -> pathlib.Path:
    """Writes an image classifier as a SavedModel with preprocessing and labels inside.

    Signatures, each with a dynamic batch and the outputs `probabilities` float32 (B, K),
    `class_ids` int64 (B,) and `classes` string (B,):

    - `serving_default`: `image`, pixels (B, H, W, C) in [0, 255], of the model's own input dtype;
    - `serve_bytes`: `image_bytes`, string (B,), whole PNG or JPEG files;
    - `serve_examples`: `examples`, string (B,), serialized tf.Examples with a bytes feature
      `image`.

    And `classify` for TF Serving's Classify method: tf.Examples in, all K classes with their scores
    out.

    Beside them: the class names as an asset, warm-up records for every signature, and the manifest
    `kerasline.json`. The folder appears under its name only when it is whole and on disk.

    Args:
        model: Functional model from images (B, H, W, C) to `{"logits": (B, K)}`; it is exported in
            float32 even if it was trained in mixed precision.
        directory: The folder to make; it must not exist, or be empty.
        class_names: K names, in the order of the logits; not empty, without line breaks.
        warmup_examples: Serialized tf.Examples of real data, at least one.
        recipe: The resolved recipe, stored in the manifest.

    Returns:
        `directory` as a path.

    Raises:
        FileExistsError: If `directory` is there and not empty.
        ValueError: If the model, the names or the warm-up examples do not fit each other.
    """
    image_shape_HWC = _image_shape(model)
    _check_class_names(class_names, num_classes=model.output["logits"].shape[-1])
    requests = _warmup_requests(warmup_examples, image_shape_HWC, model.inputs[0].dtype)
    target = pathlib.Path(directory)
    with atomic_folder.written_aside(target) as partial:
        _write_saved_model(precision.to_float32(model), partial, class_names, image_shape_HWC)
        warmup.write_warmup(partial, requests)
        manifest.write_manifest(partial, _facts(class_names, image_shape_HWC, recipe))
    return target


def _image_shape(model: keras.Model) -> tuple[int, int, int]:
    input_shapes = [tensor.shape for tensor in model.inputs]
    outputs = getattr(model, "output", None)  # A Sequential that was never called has none.
    is_image = (
        len(input_shapes) == 1 and len(input_shapes[0]) == 4 and None not in input_shapes[0][1:]
    )
    if not is_image or not isinstance(outputs, dict) or set(outputs) != {"logits"}:
        raise ValueError(
            "The model must map one image input of a fixed size to {'logits': (B, K)}. "
            f"Received: inputs of shape {input_shapes}, output={outputs}."
        )
    return input_shapes[0][1:]


def _check_class_names(class_names: Sequence[str], *, num_classes: int) -> None:
    if len(class_names) != num_classes:
        raise ValueError(
            f"There must be one class name for each of the {num_classes} logits. "
            f"Received: len(class_names)={len(class_names)}."
        )
    # The asset has one name on each line.
    bad = [name for name in class_names if not name or len(name.splitlines()) != 1 or "\0" in name]
    if bad:
        raise ValueError(
            f"A class name must be a non-empty text without line breaks. Received: {bad}."
        )


def _warmup_requests(
    examples: Sequence[bytes], image_shape_HWC: tuple[int, int, int], pixel_dtype: str
) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Makes one request of a single row and one of all rows for each signature."""
    if not examples:
        raise ValueError(
            "At least one warm-up example is needed, so that the first user does not wait. "
            "Received: warmup_examples=[]."
        )
    try:
        encoded_B = _parse_images(tf.constant(list(examples)))
        images_BHWC = _decode(encoded_B, image_shape_HWC)
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(
            f"Each warm-up example must be a serialized tf.Example whose bytes feature "
            f"{_IMAGE_FEATURE!r} is an "
            f"image file. Received: {error.message}"
        ) from error
    inputs_by_signature = {
        "serving_default": ("image", images_BHWC.numpy().astype(pixel_dtype)),
        "serve_bytes": ("image_bytes", encoded_B.numpy()),
        "serve_examples": ("examples", np.array(list(examples), dtype=object)),
    }
    sizes = sorted({1, len(examples)})
    return [
        (signature, {name: rows[:size]})
        for signature, (name, rows) in inputs_by_signature.items()
        for size in sizes
    ]


def _write_saved_model(
    model: keras.Model,
    directory: pathlib.Path,
    class_names: Sequence[str],
    image_shape_HWC: tuple[int, int, int],
) -> None:
    with tempfile.TemporaryDirectory() as asset_dir:
        labels = _label_table(class_names, pathlib.Path(asset_dir))
        answer = _answer_function(model, labels)
        archive = keras.export.ExportArchive()
        archive.track(model)
        archive.track(labels)

        def serve_images(image: tf.Tensor) -> dict[str, tf.Tensor]:
            return answer(image)

        def serve_bytes(image_bytes: tf.Tensor) -> dict[str, tf.Tensor]:
            return answer(tf.cast(_decode(image_bytes, image_shape_HWC), model.inputs[0].dtype))

        def serve_examples(examples: tf.Tensor) -> dict[str, tf.Tensor]:
            return serve_bytes(_parse_images(examples))

        def classify(inputs: tf.Tensor) -> dict[str, tf.Tensor]:
            scores_BK = serve_examples(inputs)["probabilities"]
            names_K = labels.lookup(tf.range(len(class_names), dtype=tf.int64))
            return {"classes": tf.broadcast_to(names_K, tf.shape(scores_BK)), "scores": scores_BK}

        pixels = tf.TensorSpec((None, *image_shape_HWC), model.inputs[0].dtype, name="image")
        strings = {
            name: tf.TensorSpec((None,), tf.string, name=name)
            for name in ("image_bytes", "examples", "inputs")
        }
        archive.add_endpoint("serving_default", serve_images, [pixels])
        archive.add_endpoint("serve_bytes", serve_bytes, [strings["image_bytes"]])
        archive.add_endpoint("serve_examples", serve_examples, [strings["examples"]])
        archive.add_endpoint("classify", classify, [strings["inputs"]])
        archive.write_out(str(directory), verbose=False)
    # SavedModels of TF2 call every signature a predict method.
    saved_model_file.set_method_name(directory, "classify", _CLASSIFY_METHOD)


def _label_table(class_names: Sequence[str], asset_dir: pathlib.Path) -> tf.lookup.StaticHashTable:
    """Makes the table that reads the names from the asset, which SavedModel copies along."""
    path = asset_dir / _LABELS_FILE
    path.write_text("".join(f"{name}\n" for name in class_names), encoding="utf-8")
    initializer = tf.lookup.TextFileInitializer(
        str(path),
        key_dtype=tf.int64,
        key_index=tf.lookup.TextFileIndex.LINE_NUMBER,
        value_dtype=tf.string,
        value_index=tf.lookup.TextFileIndex.WHOLE_LINE,
    )
    return tf.lookup.StaticHashTable(initializer, default_value="")


def _answer_function(
    model: keras.Model, labels: tf.lookup.StaticHashTable
) -> Callable[[tf.Tensor], dict[str, tf.Tensor]]:
    def answer(images_BHWC: tf.Tensor) -> dict[str, tf.Tensor]:
        # The one input may be named by a dict or bare.
        inputs = keras.tree.pack_sequence_as(model.input, [images_BHWC])
        logits_BK = tf.cast(model(inputs, training=False)["logits"], tf.float32)
        class_ids_B = tf.argmax(logits_BK, axis=-1)
        return {
            "probabilities": tf.nn.softmax(logits_BK),
            "class_ids": class_ids_B,
            "classes": labels.lookup(class_ids_B),
        }

    return answer


def _parse_images(examples_B: tf.Tensor) -> tf.Tensor:
    features = {_IMAGE_FEATURE: tf.io.FixedLenFeature((), tf.string)}
    return tf.io.parse_example(examples_B, features)[_IMAGE_FEATURE]


def _decode(encoded_B: tf.Tensor, image_shape_HWC: tuple[int, int, int]) -> tf.Tensor:
    height_px, width_px, channels = image_shape_HWC
    return preprocessing.decode_images(
        encoded_B, height_px=height_px, width_px=width_px, channels=channels
    )


def _facts(
    class_names: Sequence[str],
    image_shape_HWC: tuple[int, int, int],
    recipe: Mapping[str, Any] | None,
) -> dict[str, Any]:
    return {
        "class_names": list(class_names),
        "image_shape": list(image_shape_HWC),
        "recipe": None if recipe is None else dict(recipe),
        "versions": {
            "keras": keras.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "tensorflow": tf.__version__,
        },
    }
