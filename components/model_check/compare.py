"""Compares the answers of a served model with Keras's own.

Legend: B batch, K classes.
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


def _check_signature(
    name: str, answer: Mapping[str, Any], expected_BK: np.ndarray, class_names: Sequence[str]
) -> float:
    if "error" in answer:
        raise _refusal(f"Signature {name!r} {answer['error']}.")
    received_BK = np.asarray(answer["probabilities"], np.float32)
    if received_BK.shape != expected_BK.shape:
        raise _refusal(
            f"Signature {name!r} must give probabilities of shape {expected_BK.shape}. "
            f"Received: shape {received_BK.shape}."
        )
    difference_B = np.abs(received_BK - expected_BK).max(axis=1)
    # Not `>`: a NaN must not pass.
    if not (difference_B <= TOLERANCE).all():
        num_rows = int((~(difference_B <= TOLERANCE)).sum())
        raise _refusal(
            f"Signature {name!r} answers otherwise than Keras did on {num_rows} of "
            f"{len(expected_BK)} examples: the probabilities differ by up to "
            f"{difference_B.max():.2g}, and may differ by {TOLERANCE:g}."
        )
    class_ids_B = received_BK.argmax(axis=1)
    if list(answer["class_ids"]) != class_ids_B.tolist():
        raise _refusal(f"Signature {name!r} gives class_ids that are not the most probable ones.")
    if list(answer["classes"]) != [class_names[class_id] for class_id in class_ids_B]:
        raise _refusal(f"Signature {name!r} gives names that do not belong to its class_ids.")
    return float(difference_B.max())


def _refusal(problem: str) -> gates.GateRefusedError:
    return gates.GateRefusedError(
        STEP,
        f"The exported model must answer as Keras did. {problem} "
        "It is not published. Look for layers that behave otherwise when exported.",
    )
