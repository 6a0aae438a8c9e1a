"""What a network ends with: the scores of classes, or numbers in the unit of the target.

Axes: B batch, F features, K classes, N numbers.
"""

import dataclasses
import math
from typing import Any

import keras

# A KerasTensor while a Functional model is built; Keras publishes no narrower type for it.
Tensor = Any

# The layers that end a network, `dlinear` in two parts; they compute in float32 under any policy.
OUTPUT_LAYERS = ("logits", "standardised", "trend", "seasonal")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Classes:
    """Ends in one score for each class.

    Attributes:
        num_classes: Number of classes K, >= 2.

    Raises:
        ValueError: If `num_classes` is below 2.
    """

    num_classes: int

    def __post_init__(self) -> None:
        if self.num_classes < 2:
            raise ValueError(
                "`num_classes` must be at least 2; a classifier with fewer has nothing to choose. "
                f"Received: num_classes={self.num_classes}."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Numbers:
    """Ends in numbers: the network learns standardised ones, and its output undoes that.

    Attributes:
        num_numbers: How many numbers N, >= 1.
        mean: Of the target over the training split, in its own unit.
        deviation: Likewise, > 0.

    Raises:
        ValueError: If a value is out of its range.
    """

    num_numbers: int
    mean: float = 0.0
    deviation: float = 1.0

    def __post_init__(self) -> None:
        if self.num_numbers < 1:
            raise ValueError(
                "`num_numbers` must be at least 1. "
                f"Received: num_numbers={self.num_numbers}. Ask for one number or more."
            )
        if not (math.isfinite(self.mean) and 0 < self.deviation < math.inf):
            raise ValueError(
                "`mean` must be finite and `deviation` finite and above 0. "
                f"Received: mean={self.mean}, deviation={self.deviation}. "
                "Take both from the targets of the training split."
            )


Head = Classes | Numbers


def finish(
    name: str, inputs: Any, features_BF: Tensor, *, head: Head, dropout_rate: float
) -> keras.Model:
    """Ends a model: dropout, then one linear layer whose outputs are float32 under any policy.

    Args:
        name: The model's name.
        inputs: The model's input, or a dict of them.
        features_BF: Features of one vector per example.
        head: What it ends with.
        dropout_rate: Share of features dropped in training, in [0, 1).

    Returns:
        A Functional model that returns `{"logits": float32 (B, K)}` for classes, and
        `{"predictions": float32 (B, N)}` in the target's unit for numbers.

    >>> x = keras.Input((3,), name="x")
    >>> head = Numbers(num_numbers=2, mean=10.0, deviation=4.0)
    >>> finish("linear", x, x, head=head, dropout_rate=0.0).output["predictions"].shape
    (None, 2)
    """
    if dropout_rate > 0:
        features_BF = keras.layers.Dropout(dropout_rate, name="head_dropout")(features_BF)
    # bfloat16 steps by 0.0625 near 10: it would tie close logits, and round numbers as much.
    if isinstance(head, Classes):
        logits_BK = keras.layers.Dense(head.num_classes, dtype="float32", name="logits")(
            features_BF
        )
        return keras.Model(inputs, {"logits": logits_BK}, name=name)
    standardised_BN = keras.layers.Dense(head.num_numbers, dtype="float32", name="standardised")(
        features_BF
    )
    predictions_BN = keras.layers.Rescaling(
        head.deviation, offset=head.mean, dtype="float32", name="predictions"
    )(standardised_BN)
    return keras.Model(inputs, {"predictions": predictions_BN}, name=name)
