"""Matrix products in float8 while training (https://arxiv.org/abs/2209.05433).

Keras' float8 layers round inputs and kernels to e4m3 and gradients to e5m2, by scales that follow
from the largest values of the last 1,024 steps. Scales and largest values are trainable variables
whose gradient is their next value and no direction: they are not summed, clipped, decayed, averaged
or given to the optimizer. Over micro-batches and replicas the largest value counts, so that N
replicas round as one device does; but for the biases, which Keras rounds to bfloat16 on each.

Axes: A largest values, R replicas.
"""

import contextlib
from collections.abc import Iterator, Sequence

import keras
import tensorflow as tf

from models.blocks import heads

_MODE = "float8"
_PREFIX = f"{_MODE}_from_"
# Where Keras puts the largest value of the newest step; the others are the same on each replica.
_NEWEST = [[0]]


def switch_on(model: keras.Model) -> list[str]:
    """Has the trainable dense layers of a model train in float8, but for those that end it.

    Call it after freezing, and before the optimizer and the train step are made.

    Args:
        model: A built model.

    Returns:
        The names of the layers.

    Raises:
        ValueError: If there is no such layer.
    """
    names = [layer.name for layer in model._flatten_layers() if _is_suitable(layer)]
    if not names:
        raise ValueError(
            "`training.precision` is float8, which needs a trainable dense layer beside the one "
            f"that ends the model. Received: model={model.name!r}, which has none. "
            "Use mixed_bfloat16 or auto, or freeze fewer layers."
        )
    model.quantize(_MODE, filters=_is_suitable)
    return names


def _is_suitable(layer: keras.layers.Layer) -> bool:
    # A shared layer's scale would be overwritten by the sum over its calls.
    return (
        isinstance(layer, keras.layers.Dense | keras.layers.EinsumDense)
        and layer.trainable
        and layer.name not in heads.OUTPUT_LAYERS
        and len(layer._inbound_nodes) < 2
    )


def learned_variables(model: keras.Model) -> list[keras.Variable]:
    """Returns the trainable variables that an optimizer moves."""
    return [v for v in model.trainable_variables if not v.overwrite_with_gradient]


def scaling_variables(model: keras.Model) -> list[keras.Variable]:
    """Returns the trainable variables whose gradient is their next value; none without float8."""
    return [v for v in model.trainable_variables if v.overwrite_with_gradient]


def largest_of_parts(parts: Sequence[Sequence[tf.Tensor]]) -> list[tf.Tensor]:
    """Joins the next values that micro-batches gave.

    Args:
        parts: The next value of each scaling variable, for each micro-batch.
    """
    return [tf.reduce_max(tf.stack(values), axis=0) for values in zip(*parts, strict=True)]


def largest_over_replicas(
    values: Sequence[tf.Tensor], context: tf.distribute.ReplicaContext
) -> list[tf.Tensor]:
    """Joins the next values that replicas gave; call it on each of them.

    Args:
        values: The next value of each scaling variable on this replica.
        context: This replica's.
    """
    if context.num_replicas_in_sync == 1 or not values:
        return list(values)
    # Scales follow from earlier steps, and are the same everywhere.
    newest_A = tf.stack([value[0] for value in values if value.shape.rank])
    # TensorFlow sums over replicas and has no maximum: each puts its values into a row of its own.
    rows_RA = tf.scatter_nd(
        [[context.replica_id_in_sync_group]],
        newest_A[None],
        (context.num_replicas_in_sync, newest_A.shape[0]),
    )
    rows_RA = context.all_reduce(tf.distribute.ReduceOp.SUM, rows_RA)
    largest = iter(tf.unstack(tf.reduce_max(rows_RA, axis=0)))
    return [
        tf.tensor_scatter_nd_update(value, _NEWEST, [next(largest)]) if value.shape.rank else value
        for value in values
    ]


@contextlib.contextmanager
def switched_off(model: keras.Model) -> Iterator[None]:
    """Has a model compute without float8 in the body, as what is exported does.

    Args:
        model: With or without float8 layers.
    """
    layers = [layer for layer in model._flatten_layers() if layer.quantization_mode == _MODE]
    policies = [layer.dtype_policy for layer in layers]
    for layer, policy in zip(layers, policies, strict=True):
        layer.dtype_policy = policy.name.removeprefix(_PREFIX)
    try:
        yield
    finally:
        for layer, policy in zip(layers, policies, strict=True):
            layer.dtype_policy = policy


def copy_weights(source: keras.Model, target: keras.Model) -> None:
    """Gives a model without float8 the weights of the same one with it.

    Args:
        source: The trained model.
        target: Built in the same way, without `switch_on`.
    """
    weights = [weight for weight in source.weights if not weight.overwrite_with_gradient]
    for new, trained in zip(target.weights, weights, strict=True):
        new.assign(keras.ops.convert_to_numpy(trained))
