"""Out of memory, said so that the next attempt fits."""

import tensorflow as tf

from components.trainer import request as train_request
from components.trainer import train
from components.trainer.diagnostics import estimate


class OutOfMemoryError(RuntimeError):
    """Training did not fit into the device's memory; the message lists what would save some."""


def train_or_explain(request: train_request.TrainRequest) -> train.TrainResult:
    """Trains; where memory runs out, it says what needs how much and which settings need less.

    Args:
        request: What to train.

    Raises:
        OutOfMemoryError: If the memory of the device or of this machine ran out.
    """
    try:
        return train.train(request)
    except (tf.errors.ResourceExhaustedError, MemoryError) as error:
        raise OutOfMemoryError(_sentence(request, estimate.estimate(request))) from error


def _sentence(request: train_request.TrainRequest, needed: estimate.Estimate) -> str:
    parts = ", ".join(
        f"{name} {estimate.format_bytes(getattr(needed, name))}"
        for name in ("parameters", "gradients", "optimizer", "activations")
    )
    levers = "; ".join(needed.levers(request.training))
    return (
        "Training ran out of memory. "
        f"Received: global_batch_size={request.training.global_batch_size}, which needs about "
        f"{estimate.format_bytes(needed.total)} ({parts}) of "
        f"{estimate.format_bytes(needed.available)}. What saves memory: {levers}."
    )
