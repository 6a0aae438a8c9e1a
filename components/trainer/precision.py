"""Precision by name: the dtype policy under which the model is built."""

import contextlib
from collections.abc import Iterator

import keras
import tensorflow as tf

# Compute capability of the first NVIDIA GPUs with float16 and with bfloat16 units (Volta, Ampere).
_FLOAT16_CAPABILITY = (7, 0)
_BFLOAT16_CAPABILITY = (8, 0)
# Ada and Hopper, whose float8 units XLA uses.
_FLOAT8_CAPABILITY = (8, 9)


def resolve_policy(precision: str) -> str:
    """Chooses the dtype policy for this machine.

    Args:
        precision: `auto`, `float8`, or a policy's name. `auto` is bfloat16 on TPUs and on GPUs from
            Ampere on, float16 with loss scaling on Volta and Turing, and float32 on processors,
            where the measured speed of either half precision is 0.6 to 0.8 of float32's. Around the
            matrix products of `float8` there is bfloat16 where `auto` would take it, and else
            float32; never float16, whose loss scaling would move the scales of float8.

    Returns:
        `float32`, `mixed_float16` or `mixed_bfloat16`.
    """
    if precision not in ("auto", "float8"):
        return precision
    if tf.config.list_logical_devices("TPU"):
        return "mixed_bfloat16"
    capability = _capability()
    if capability >= _BFLOAT16_CAPABILITY:
        return "mixed_bfloat16"
    if precision == "float8":
        return "float32"
    return "mixed_float16" if capability >= _FLOAT16_CAPABILITY else "float32"


def emulation_note(precision: str) -> str:
    """Says that this machine computes slowly what its precision promises, or an empty text.

    Args:
        precision: The recipe's.
    """
    if precision != "float8" or _capability() >= _FLOAT8_CAPABILITY:
        return ""
    return (
        'This machine has no float8 units: `training.precision = "float8"` is emulated, with the '
        "roundings of float8 and without its speed; a step takes longer than in float32."
    )


def _capability() -> tuple[int, int]:
    """Returns the lowest compute capability of this machine's GPUs, (0, 0) without any."""
    return min(
        (
            tf.config.experimental.get_device_details(gpu).get("compute_capability", (0, 0))
            for gpu in tf.config.list_physical_devices("GPU")
        ),
        default=(0, 0),
    )


@contextlib.contextmanager
def policy_scope(policy: str) -> Iterator[None]:
    """Sets Keras' global dtype policy for the body only, so that other models are not changed.

    Args:
        policy: A policy's name, such as `mixed_bfloat16`.
    """
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
