"""Batch normalisation by TensorFlow's fused kernel, with Keras' own mathematics.

Keras computes the moments, the normalisation and their gradients operation by operation, so each
batch normalisation passes over its activations many times; the fused kernel passes over them a few
times. Measured on two cores with the `cnn` of 28 x 28 images: 28 against 36 ms per step.

Axes: B batch, H height, W width, C channels.
"""

import types
from typing import Any

import keras
import tensorflow as tf

# The smallest epsilon that the kernel accepts on every device.
_MIN_EPSILON = 1e-5


def fuse_batch_norms(model: keras.Model) -> int:
    """Has the batch normalisations of `model` train through the fused kernel, where they can.

    The layers keep their class, weights and config: what is saved or exported is plain Keras. Call
    it only where one replica holds the whole batch, since the kernel does not sum over replicas.

    Args:
        model: A built model. Layers over (B, H, W, C) with scale and centre are changed.

    Returns:
        The number of layers changed.
    """
    layers = [layer for layer in model._flatten_layers() if _can_fuse(layer)]
    for layer in layers:
        layer.call = types.MethodType(_call, layer)
    return len(layers)


def _can_fuse(layer: keras.layers.Layer) -> bool:
    return (
        type(layer) is keras.layers.BatchNormalization
        and len(layer.moving_mean.shape) == 1
        and layer.axis in (-1, 3)
        and len(layer.input.shape) == 4
        and layer.scale
        and layer.center
        and not layer.renorm
        and layer.epsilon >= _MIN_EPSILON
    )


def _call(
    layer: keras.layers.BatchNormalization, inputs: Any, training: Any = None, mask: Any = None
) -> tf.Tensor:
    if not (training is True and layer.trainable and mask is None):
        return type(layer).call(layer, inputs, training=training, mask=mask)
    x_BHWC = tf.cast(inputs, tf.float32)
    outputs_BHWC, mean_C, variance_C, *_ = tf.raw_ops.FusedBatchNormV3(
        x=x_BHWC,
        scale=tf.convert_to_tensor(layer.gamma),
        offset=tf.convert_to_tensor(layer.beta),
        mean=tf.zeros((0,)),
        variance=tf.zeros((0,)),
        epsilon=layer.epsilon,
        is_training=True,
    )
    # The kernel answers with the unbiased variance; Keras keeps the biased one.
    count = tf.cast(tf.reduce_prod(tf.shape(x_BHWC)[:3]), tf.float32)
    _average(layer.moving_mean, mean_C, layer.momentum)
    _average(layer.moving_variance, variance_C * (count - 1.0) / count, layer.momentum)
    return tf.cast(outputs_BHWC, layer.compute_dtype)


def _average(moving_C: keras.Variable, value_C: tf.Tensor, momentum: float) -> None:
    moving_C.assign(moving_C * momentum + value_C * (1.0 - momentum))
