"""Compares the answers of a served model with Keras's own.

Legend: B batch, K classes, N numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from components import gates

STEP = "model_check"
# float32 sums in another order differ by less.
TOLERANCE = 1e-5


def check_answers(
    answers: Mapping[str, Mapping[str, Any]],
    expected_BK: np.ndarray,
    class_names: Sequence[str],
) -> float:
    """Refuses a model that answers otherwise than Keras did.

    Args:
        answers: Signature name -> `probabilities` (B, K), `class_ids` (B,), `classes` (B,), or
            `error`.
        expected_BK: Keras's probabilities for the same examples, float32.
        class_names: The name of each class, by label.

    Returns:
        The largest difference of a probability, in [0, 1e-5].

    Raises:
        GateRefusedError: If an answer differs; the message names the signature and the largest
            difference.
    """
    return max(
        _check_signature(name, answer, expected_BK, class_names) for name, answer in answers.items()
    )


def check_predictions(answers: Mapping[str, Mapping[str, Any]], expected_BN: np.ndarray) -> float:
    """Refuses a model that predicts other numbers than Keras did.

    Args:
        answers: Signature name -> `predictions` (B, N), or `error`.
        expected_BN: Keras's predictions for the same examples, float32.

    Returns:
        The largest difference as a share of the largest prediction, in [0, 1e-5].

    Raises:
        GateRefusedError: If a prediction differs; the message names the signature and the largest
            difference.
    """
    # Rounding grows with the numbers that are added up, in whatever unit they are.
    scale = float(np.abs(expected_BN).max()) or 1.0
    return max(
        _largest_difference(name, answer, "predictions", expected_BN, scale=scale) / scale
        for name, answer in answers.items()
    )


def _largest_difference(
    name: str,
    answer: Mapping[str, Any],
    output: str,
    expected: np.ndarray,
    *,
    scale: float = 1.0,
) -> float:
    if "error" in answer:
        raise _refusal(f"Signature {name!r} {answer['error']}.")
    received = np.asarray(answer[output], np.float32)
    if received.shape != expected.shape:
        raise _refusal(
            f"Signature {name!r} must give {output} of shape {expected.shape}. "
            f"Received: shape {received.shape}."
        )
    tolerance = TOLERANCE * scale
    difference_B = np.abs(received - expected).max(axis=1)
    # Not `>`: a NaN must not pass.
    if not (difference_B <= tolerance).all():
        num_rows = int((~(difference_B <= tolerance)).sum())
        raise _refusal(
            f"Signature {name!r} answers otherwise than Keras did on {num_rows} of "
            f"{len(expected)} examples: the {output} differ by up to "
            f"{difference_B.max():.2g}, and may differ by {tolerance:g}."
        )
    return float(difference_B.max())


def _check_signature(
    name: str, answer: Mapping[str, Any], expected_BK: np.ndarray, class_names: Sequence[str]
) -> float:
    difference = _largest_difference(name, answer, "probabilities", expected_BK)
    received_BK = np.asarray(answer["probabilities"], np.float32)
    class_ids_B = received_BK.argmax(axis=1)
    if list(answer["class_ids"]) != class_ids_B.tolist():
        raise _refusal(f"Signature {name!r} gives class_ids that are not the most probable ones.")
    if list(answer["classes"]) != [class_names[class_id] for class_id in class_ids_B]:
        raise _refusal(f"Signature {name!r} gives names that do not belong to its class_ids.")
    return difference


def _refusal(problem: str) -> gates.GateRefusedError:
    return gates.GateRefusedError(
        STEP,
        f"The exported model must answer as Keras did. {problem} "
        "It is not published. Look for layers that behave otherwise when exported.",
    )
