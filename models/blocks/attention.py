"""Self-attention and the two ways to tell it the order of tokens.

Axes: B batch, T tokens, D features, N heads, H features of a head.
"""

import keras
import numpy as np

from models.blocks.heads import Tensor

_ROTARY_BASE = 10_000.0


def positions_of(token_ids_BT: Tensor) -> Tensor:
    """Returns 0, 1, ... as (1, T), for any number of tokens.

    Args:
        token_ids_BT: Any tensor of that shape.
    """
    # A reduction stands for one row: Keras cannot slice an axis whose length is open.
    row_1T = keras.ops.sum(token_ids_BT, axis=0, keepdims=True)
    return keras.ops.cumsum(keras.ops.ones_like(row_1T), axis=1) - 1


def rotary_angles(positions_1T: Tensor, *, head_width: int) -> Tensor:
    """Returns the angles by which `self_attention` turns each pair of features.

    The product of two turned vectors depends on their distance alone
    (https://arxiv.org/abs/2104.09864).

    Args:
        positions_1T: From `positions_of`.
        head_width: Features H of a head, even.

    Returns:
        Radians, float32 (1, T, 1, H / 2).
    """
    exponents_H = np.arange(0, head_width, 2, dtype="float32") / head_width
    radians_H = (_ROTARY_BASE**-exponents_H).tolist()
    positions_1T11 = keras.ops.cast(positions_1T[:, :, None, None], "float32")
    return positions_1T11 * keras.ops.convert_to_tensor(radians_H)


def self_attention(
    x_BTD: Tensor,
    is_token_BT: Tensor,
    *,
    num_heads: int,
    angles_1T1H: Tensor | None = None,
    name: str,
) -> Tensor:
    """Lets every token read every other one, but no padding (https://arxiv.org/abs/1706.03762).

    Args:
        x_BTD: Features; D is a multiple of `num_heads`.
        is_token_BT: True where there is a token and not padding.
        num_heads: Heads N, > 0.
        angles_1T1H: From `rotary_angles`; None adds no order.
        name: Prefix of the layers' names.

    Returns:
        Features (B, T, D).
    """
    width = x_BTD.shape[-1]
    # One product for all three is quicker than three. The variance is that of three Glorot kernels.
    initializer = keras.initializers.VarianceScaling(2.0, "fan_avg", "uniform")
    x_BTF = keras.layers.Dense(3 * width, kernel_initializer=initializer, name=f"{name}_qkv")(x_BTD)
    shape = (-1, 3 * num_heads, width // num_heads)
    x_BTMH = keras.layers.Reshape(shape, name=f"{name}_heads")(x_BTF)
    query_BTNH, key_BTNH, value_BTNH = keras.ops.split(x_BTMH, 3, axis=2)
    if angles_1T1H is not None:
        query_BTNH, key_BTNH = _turn(query_BTNH, angles_1T1H), _turn(key_BTNH, angles_1T1H)
    x_BTNH = keras.ops.dot_product_attention(
        query_BTNH, key_BTNH, value_BTNH, mask=is_token_BT[:, None, None, :]
    )
    x_BTD = keras.layers.Reshape((-1, width), name=f"{name}_join")(x_BTNH)
    return keras.layers.Dense(width, name=f"{name}_output")(x_BTD)


def _turn(x_BTNH: Tensor, angles_1T1H: Tensor) -> Tensor:
    cos_1T1H = keras.ops.cast(keras.ops.cos(angles_1T1H), x_BTNH.dtype)
    sin_1T1H = keras.ops.cast(keras.ops.sin(angles_1T1H), x_BTNH.dtype)
    first, second = keras.ops.split(x_BTNH, 2, axis=-1)
    return keras.ops.concatenate(
        [first * cos_1T1H - second * sin_1T1H, second * cos_1T1H + first * sin_1T1H], axis=-1
    )
