"""Asks a published model about image files, through the SavedModel itself.

Legend: B images, K classes.
"""

import contextlib
import dataclasses
import os
import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from serving.export import manifest
from serving.server import tensorflow_import

SIGNATURE = "serve_bytes"
_INPUT = "image_bytes"
_OUTPUT = "probabilities"
# How the formats that a model decodes begin.
_IMAGE_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"BM")


class PredictionError(ValueError):
    """The model or an image cannot be used; the message says why and what to do."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prediction:
    """What the model says of one image.

    Attributes:
        image: Path of the image.
        classes: (class name, probability in [0, 1]) pairs, likeliest first.
    """

    image: str
    classes: tuple[tuple[str, float], ...]


def find_model(folder: pathlib.Path) -> pathlib.Path:
    """Finds the SavedModel in a folder: the folder itself, or its highest numbered version.

    Raises:
        PredictionError: If there is none.
    """
    if (folder / "saved_model.pb").is_file():
        return folder
    versions = [path for path in folder.glob("[0-9]*/saved_model.pb") if path.parent.name.isdigit()]
    if versions:
        return max((path.parent for path in versions), key=lambda path: int(path.name))
    raise PredictionError(
        "Expected a folder with a SavedModel, or with numbered versions of one. Received: "
        f"--model {folder}, which {'holds none' if folder.is_dir() else 'is not there'}. "
        "`kerasline run` says at its end where the model is."
    )


def read_images(paths: Sequence[pathlib.Path]) -> list[bytes]:
    """Reads image files, in order.

    Raises:
        PredictionError: If a file cannot be read or is no PNG, JPEG, GIF or BMP.
    """
    return [_read_image(path) for path in paths]


def predict(
    model_dir: pathlib.Path, paths: Sequence[pathlib.Path], *, top: int
) -> list[Prediction]:
    """Asks the model through its signature `serve_bytes`.

    Args:
        model_dir: Folder of a SavedModel.
        paths: Image files.
        top: How many classes to return for each, >= 1; a model with fewer returns all.

    Raises:
        PredictionError: If the model or an image cannot be used.
    """
    encoded_B = read_images(paths)
    class_names = _class_names(model_dir)
    probabilities_BK = _ask(_load_signature(model_dir), encoded_B, paths)
    return [
        Prediction(image=str(path), classes=_likeliest(class_names, probabilities_K, top))
        for path, probabilities_K in zip(paths, probabilities_BK, strict=True)
    ]


def _likeliest(
    class_names: Sequence[str], probabilities_K: Sequence[float], top: int
) -> tuple[tuple[str, float], ...]:
    pairs = zip(class_names, probabilities_K, strict=True)
    return tuple(sorted(pairs, key=lambda pair: -pair[1])[:top])


def _class_names(model_dir: pathlib.Path) -> list[str]:
    """Reads the names from the manifest, after checking that the model's files are whole."""
    try:
        manifest.check_files(model_dir)
        facts = manifest.read_manifest(model_dir)
    except manifest.ManifestError as error:
        raise PredictionError(str(error)) from None
    if facts is None:
        raise PredictionError(
            f"Expected a model that Kerasline exported, with a {manifest.MANIFEST_NAME} that names "
            f"its classes. Received: --model {model_dir}, which has none."
        )
    names: list[str] = facts["class_names"]
    return names


def _load_signature(model_dir: pathlib.Path) -> Any:
    with _quiet():
        # Here, and not at the top: faults of the folder and the images are told without TensorFlow.
        tensorflow_import.import_tensorflow()
    import tensorflow as tf

    try:
        with _quiet():
            model = tf.saved_model.load(str(model_dir))
    except (OSError, ValueError, RuntimeError, tf.errors.OpError) as error:
        raise PredictionError(
            f"TensorFlow cannot load the model. Received: --model {model_dir}, error={error}."
        ) from None
    if SIGNATURE not in model.signatures:
        raise PredictionError(
            f"The model needs a signature {SIGNATURE}, which takes whole image files. Received: "
            f"--model {model_dir} with signatures {', '.join(sorted(model.signatures)) or 'none'}. "
            "Export it with Kerasline, or ask it through `kerasline serve`."
        )
    # The model owns its tables and variables: it must outlive the call.
    signature = model.signatures[SIGNATURE]
    signature.model = model
    return signature


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Drops what TensorFlow's native code writes to standard error while it looks for devices.

    Its own TF_CPP_MIN_LOG_LEVEL does not silence what is logged before its logging is set up.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _ask(
    signature: Any, encoded_B: Sequence[bytes], paths: Sequence[pathlib.Path]
) -> list[list[float]]:
    import tensorflow as tf

    result = []
    for encoded, path in zip(encoded_B, paths, strict=True):
        # One at a time, so that an image that cannot be decoded is named.
        try:
            outputs = signature(**{_INPUT: tf.constant([encoded])})
        except tf.errors.InvalidArgumentError:
            raise PredictionError(
                f"The image cannot be decoded: it is damaged. Received: --image {path}."
            ) from None
        result.append(outputs[_OUTPUT].numpy()[0].tolist())
    return result


def _read_image(path: pathlib.Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PredictionError(
            f"The image cannot be read: {error.strerror}. Received: --image {path}."
        ) from None
    if not content.startswith(_IMAGE_STARTS):
        raise PredictionError(
            f"Expected a PNG, JPEG, GIF or BMP file. Received: --image {path}, which "
            f"{'is empty' if not content else f'begins with {content[:4]!r}'}."
        )
    return content
