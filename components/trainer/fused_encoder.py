"""A transformer's products, attention, normalisation and GELU with their gradients written out.

TensorFlow derives these gradients operation by operation, and passes over the activations many more
times than the formulas need. The mathematics, the layers and what is saved stay Keras' own.

Axes: B batch, T tokens, S tokens that are read, D and F features, N heads, H features of a head.
"""

import math
import types
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

Gradient = Callable[..., Any]
_MASKED_SCORE = -1e30


def fuse(model: keras.Model) -> int:
    """Has what a transformer consists of train by the formulas below.

    Args:
        model: A built model. Only float32 operations change: half precision needs the casts that
            Keras makes.

    Returns:
        The number of operations changed.
    """
    changed = 0
    for operation in model.operations:
        call = _call_of(operation)
        if call is not None:
            operation.call = types.MethodType(call, operation)
            changed += 1
    return changed


def restore(model: keras.Model) -> None:
    """Gives the operations that `fuse` changed their own calls back, for whoever exports them.

    Args:
        model: A built model.
    """
    for operation in model.operations:
        if getattr(operation.__dict__.get("call"), "__func__", None) in _CALLS:
            del operation.call


def _call_of(operation: keras.Operation) -> Callable[..., Any] | None:
    call: Callable[..., Any] | None = None
    if type(operation).__name__ == "DotProductAttention" and not operation.is_causal:
        call = _call_attention
    elif type(operation) is keras.layers.LayerNormalization and operation.axis in (-1, [-1]):
        call = _call_layer_norm if operation.scale and operation.center else None
    elif type(operation) is keras.layers.Dense and len(operation.output.shape) == 3:
        is_plain = operation.use_bias and not operation.lora_enabled
        call = _call_dense if is_plain and operation.quantization_mode is None else None
    elif type(operation) is keras.layers.Activation:
        call = _call_gelu if operation.activation is keras.activations.gelu else None
    return call if call is not None and operation.output.dtype == "float32" else None


def _call_attention(
    operation: Any, query: Any, key: Any, value: Any, *, mask: Any = None, **options: Any
) -> tf.Tensor:
    if any(option is not None for option in options.values()) or query.shape[2] != key.shape[2]:
        return type(operation).call(operation, query, key, value, mask=mask, **options)
    return attend(query, key, value, tf.ones((1, 1, 1, 1), tf.bool) if mask is None else mask)


def _call_layer_norm(layer: keras.layers.LayerNormalization, inputs: Any) -> tf.Tensor:
    gamma_D, beta_D = tf.convert_to_tensor(layer.gamma), tf.convert_to_tensor(layer.beta)
    return layer_norm(inputs, gamma_D, beta_D, layer.epsilon)


def _call_dense(layer: keras.layers.Dense, inputs: Any, training: bool | None = None) -> tf.Tensor:
    kernel_DF, bias_F = tf.convert_to_tensor(layer.kernel), tf.convert_to_tensor(layer.bias)
    return layer.activation(linear(inputs, kernel_DF, bias_F))


def _call_gelu(layer: keras.layers.Activation, inputs: Any) -> tf.Tensor:
    return gelu(inputs)


_CALLS = (_call_attention, _call_dense, _call_gelu, _call_layer_norm)


@tf.custom_gradient
def attend(
    query_BTNH: tf.Tensor, key_BSNH: tf.Tensor, value_BSNH: tf.Tensor, mask_BNTS: tf.Tensor
) -> tuple[tf.Tensor, Gradient]:
    """Softmax attention (https://arxiv.org/abs/1706.03762) with the gradient of FlashAttention.

    The softmax's gradient needs, for each query, the sum over the keys of score gradients times
    shares; it is the sum over H of output gradient times output (https://arxiv.org/abs/2205.14135,
    appendix B), which is smaller by S / H.

    Args:
        query_BTNH: Queries.
        key_BSNH: Keys.
        value_BSNH: Values.
        mask_BNTS: True where a token may be read; axes of length 1 broadcast.

    Returns:
        The output (B, T, N, H), and the function of its gradient.
    """
    scale = query_BTNH.shape[-1] ** -0.5
    query_BNTH = tf.transpose(query_BTNH * scale, (0, 2, 1, 3))
    scores_BNTS = tf.matmul(query_BNTH, tf.transpose(key_BSNH, (0, 2, 3, 1)))
    shares_BNTS = tf.nn.softmax(tf.where(mask_BNTS, scores_BNTS, _MASKED_SCORE))
    output_BNTH = tf.matmul(shares_BNTS, tf.transpose(value_BSNH, (0, 2, 1, 3)))
    output_BTNH = tf.transpose(output_BNTH, (0, 2, 1, 3))

    def gradient(upstream_BTNH: tf.Tensor) -> tuple[tf.Tensor, ...]:
        upstream_BNTH = tf.transpose(upstream_BTNH, (0, 2, 1, 3))
        value_BNHS = tf.transpose(value_BSNH, (0, 2, 3, 1))
        sums_BNT1 = tf.reduce_sum(upstream_BNTH * output_BNTH, axis=-1, keepdims=True)
        scores_grad_BNTS = shares_BNTS * (tf.matmul(upstream_BNTH, value_BNHS) - sums_BNT1)
        # Where a query may read nothing, all shares are equal, and no score has a gradient.
        scores_grad_BNTS = tf.where(mask_BNTS, scores_grad_BNTS, 0.0)
        query_grad_BNTH = tf.matmul(scores_grad_BNTS, tf.transpose(key_BSNH, (0, 2, 1, 3)))
        # The transposed products have their sums in the order that processors read memory.
        key_grad_BNHS = tf.matmul(tf.transpose(query_BNTH, (0, 1, 3, 2)), scores_grad_BNTS)
        value_grad_BNHS = tf.matmul(tf.transpose(upstream_BTNH, (0, 2, 3, 1)), shares_BNTS)
        return (
            tf.transpose(query_grad_BNTH * scale, (0, 2, 1, 3)),
            tf.transpose(key_grad_BNHS, (0, 3, 1, 2)),
            tf.transpose(value_grad_BNHS, (0, 3, 1, 2)),
            None,
        )

    return output_BTNH, gradient


@tf.custom_gradient
def linear(x_BTD: tf.Tensor, kernel_DF: tf.Tensor, bias_F: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
    """The product with a matrix, and a bias.

    Args:
        x_BTD: Features.
        kernel_DF: The matrix.
        bias_F: Added to each token.

    Returns:
        Features (B, T, F), and the function of their gradient.
    """
    x_MD = tf.reshape(x_BTD, (-1, x_BTD.shape[-1]))
    y_MF = tf.nn.bias_add(tf.matmul(x_MD, kernel_DF), bias_F)

    def gradient(upstream_BTF: tf.Tensor) -> tuple[tf.Tensor, ...]:
        upstream_MF = tf.reshape(upstream_BTF, (-1, kernel_DF.shape[1]))
        x_grad_MD = tf.matmul(upstream_MF, kernel_DF, transpose_b=True)
        kernel_grad_DF = tf.matmul(x_MD, upstream_MF, transpose_a=True)
        return tf.reshape(x_grad_MD, tf.shape(x_BTD)), kernel_grad_DF, _column_sums(upstream_MF)

    return tf.reshape(y_MF, (*_leading(x_BTD), kernel_DF.shape[1])), gradient


def layer_norm(
    x_BTD: tf.Tensor, gamma_D: tf.Tensor, beta_D: tf.Tensor, epsilon: float
) -> tf.Tensor:
    """Gives each token's features mean 0 and variance 1 (https://arxiv.org/abs/1607.06450).

    Args:
        x_BTD: Features.
        gamma_D: What they are then multiplied by.
        beta_D: What is then added.
        epsilon: Added to the variance.

    Returns:
        Features of the same shape.
    """

    @tf.custom_gradient
    def normalise(
        x_BTD: tf.Tensor, gamma_D: tf.Tensor, beta_D: tf.Tensor
    ) -> tuple[tf.Tensor, Gradient]:
        centred_BTD = x_BTD - tf.reduce_mean(x_BTD, axis=-1, keepdims=True)
        variance_BT1 = tf.reduce_mean(tf.square(centred_BTD), axis=-1, keepdims=True)
        inverse_BT1 = tf.math.rsqrt(variance_BT1 + epsilon)
        normal_BTD = centred_BTD * inverse_BT1

        def gradient(upstream_BTD: tf.Tensor) -> tuple[tf.Tensor, ...]:
            normal_grad_BTD = upstream_BTD * gamma_D
            mean_BT1 = tf.reduce_mean(normal_grad_BTD, axis=-1, keepdims=True)
            slope_BT1 = tf.reduce_mean(normal_grad_BTD * normal_BTD, axis=-1, keepdims=True)
            x_grad_BTD = (normal_grad_BTD - mean_BT1 - normal_BTD * slope_BT1) * inverse_BT1
            flat = (-1, x_BTD.shape[-1])
            gamma_grad_D = _column_sums(tf.reshape(upstream_BTD * normal_BTD, flat))
            return x_grad_BTD, gamma_grad_D, _column_sums(tf.reshape(upstream_BTD, flat))

        return normal_BTD * gamma_D + beta_D, gradient

    return normalise(x_BTD, gamma_D, beta_D)


def _column_sums(values_MF: tf.Tensor) -> tf.Tensor:
    # As a product: sums over a long first axis take TensorFlow and XLA three times as long.
    ones_1M = tf.ones((1, tf.shape(values_MF)[0]), values_MF.dtype)
    return tf.reshape(tf.matmul(ones_1M, values_MF), (-1,))


def _leading(x_BTD: tf.Tensor) -> list[Any]:
    lengths = tf.shape(x_BTD)
    return [lengths[axis] if n is None else n for axis, n in enumerate(x_BTD.shape[:-1])]


@tf.custom_gradient
def gelu(x: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
    """The exact GELU (https://arxiv.org/abs/1606.08415), by the error function.

    TensorFlow's own goes by erfc, which it computes case by case and twice as slowly; the two
    differ by 1e-7, below float32's resolution at 1.

    Args:
        x: Any shape.

    Returns:
        Values of the same shape, and the function of their gradient.
    """
    share = 0.5 + 0.5 * tf.math.erf(x * math.sqrt(0.5))

    def gradient(upstream: tf.Tensor) -> tf.Tensor:
        density = tf.exp(-0.5 * tf.square(x)) * (1.0 / math.sqrt(2.0 * math.pi))
        return upstream * (share + x * density)

    return x * share, gradient
