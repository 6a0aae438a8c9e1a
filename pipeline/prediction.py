"""Asks a published model, through the SavedModel itself.

Legend: K classes.
"""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline import questions
from pipeline.questions import PredictionError, Question
from serving.export import manifest
from serving.server import tensorflow_import


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prediction:
    """What the model says of one example.

    Attributes:
        question: What was asked.
        classes: (class name, probability in [0, 1]) pairs, likeliest first; none if numbers are
            predicted.
        numbers: The predicted numbers; none if classes are.
    """

    question: Question
    classes: tuple[tuple[str, float], ...] = ()
    numbers: tuple[float, ...] = ()


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


def predict(
    model_dir: pathlib.Path, asked: Sequence[tuple[str, str]], *, top: int
) -> list[Prediction]:
    """Asks the model, one example after another.

    Args:
        model_dir: Folder of a SavedModel.
        asked: Pairs of an option and what was given to it, such as ("--image", "cat.png").
        top: How many classes to return for each, >= 1; a model with fewer returns all.

    Raises:
        PredictionError: If the model or a question cannot be used.
    """
    facts = _read_facts(model_dir)
    made = [questions.make(option, given, facts) for option, given in asked]
    signatures = _load_signatures(model_dir)
    answers = [_ask(model_dir, signatures, question) for question in made]
    class_names = facts.get("class_names", [])
    return [
        _prediction(question, outputs, class_names, top)
        for question, outputs in zip(made, answers, strict=True)
    ]


def _prediction(
    question: Question, outputs: Mapping[str, list[float]], class_names: Sequence[str], top: int
) -> Prediction:
    if "predictions" in outputs:
        return Prediction(question=question, numbers=tuple(outputs["predictions"]))
    pairs = zip(class_names, outputs["probabilities"], strict=True)
    classes = tuple(sorted(pairs, key=lambda pair: -pair[1])[:top])
    return Prediction(question=question, classes=classes)


def _read_facts(model_dir: pathlib.Path) -> dict[str, Any]:
    """Reads the manifest, after checking that the model's files are whole."""
    try:
        manifest.check_files(model_dir)
        facts = manifest.read_manifest(model_dir)
    except manifest.ManifestError as error:
        raise PredictionError(str(error)) from None
    if facts is None:
        raise PredictionError(
            f"Expected a model that Kerasline exported, with a {manifest.MANIFEST_NAME} that says "
            f"what it reads. Received: --model {model_dir}, which has none."
        )
    return facts


def _load_signatures(model_dir: pathlib.Path) -> Any:
    with tensorflow_import.quiet():
        # Here, and not at the top: faults of the folder and the files are told without TensorFlow.
        tensorflow_import.import_tensorflow()
    import tensorflow as tf

    try:
        with tensorflow_import.quiet():
            model = tf.saved_model.load(str(model_dir))
    except (OSError, ValueError, RuntimeError, tf.errors.OpError) as error:
        raise PredictionError(
            f"TensorFlow cannot load the model. Received: --model {model_dir}, error={error}."
        ) from None
    # The model owns its tables and variables: it must outlive the call.
    return {name: _Signature(model, function) for name, function in model.signatures.items()}


@dataclasses.dataclass(frozen=True)
class _Signature:
    model: Any
    function: Any

    @property
    def specs(self) -> Mapping[str, Any]:
        specs: Mapping[str, Any] = self.function.structured_input_signature[1]
        return specs


def _ask(
    model_dir: pathlib.Path, signatures: Mapping[str, _Signature], question: Question
) -> dict[str, list[float]]:
    import tensorflow as tf

    signature = signatures.get(question.signature)
    if signature is None or set(signature.specs) != set(question.values):
        raise PredictionError(
            f"The model needs a signature {question.signature} with the inputs "
            f"{', '.join(question.values) or 'of its own'}, for {question.option}. Received: "
            f"--model {model_dir} with signatures {_described(signatures)}. "
            "Export it with Kerasline, or ask it through `kerasline serve`."
        )
    given = f"{question.option} {question.given}"
    try:
        tensors = {
            name: tf.ensure_shape(tf.constant([value], spec.dtype), spec.shape)
            for name, value, spec in _with_specs(question, signature)
        }
    except (TypeError, ValueError, tf.errors.InvalidArgumentError):
        shapes = ", ".join(
            f"{name} {tuple(spec.shape[1:])}" for name, _, spec in _with_specs(question, signature)
        )
        raise PredictionError(
            f"The values must have the model's shapes: {shapes}. Received: {given}."
        ) from None
    try:
        outputs = signature.function(**tensors)
    except tf.errors.InvalidArgumentError as error:
        if question.signature != questions.FILE_SIGNATURE:
            raise
        rate = ", or has another sample rate than the model" if question.kind == "audio" else ""
        raise PredictionError(
            f"The {question.kind} cannot be decoded: it is damaged{rate}. Received: {given}."
        ) from error
    named = ("predictions", "probabilities")
    return {name: outputs[name].numpy()[0].tolist() for name in named if name in outputs}


def _with_specs(question: Question, signature: _Signature) -> list[tuple[str, Any, Any]]:
    return [(name, value, signature.specs[name]) for name, value in question.values.items()]


def _described(signatures: Mapping[str, _Signature]) -> str:
    described = (f"{name} ({', '.join(found.specs)})" for name, found in signatures.items())
    return "; ".join(sorted(described)) or "none"
