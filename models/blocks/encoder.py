"""The layer of a transformer encoder.

Axes: B batch, T tokens, D features.
"""

import keras

from models.blocks import attention
from models.blocks.heads import Tensor


def layer_norm(x_BTD: Tensor, *, name: str) -> Tensor:
    """Normalises each token's features (https://arxiv.org/abs/1607.06450).

    Args:
        x_BTD: Features.
        name: The layer's name.
    """
    return keras.layers.LayerNormalization(epsilon=1e-5, name=name)(x_BTD)


def feed_forward(x_BTD: Tensor, *, hidden_width: int, name: str) -> Tensor:
    """Two linear layers around a GELU, for each token by itself.

    Args:
        x_BTD: Features.
        hidden_width: Features between the two layers, > 0.
        name: Prefix of the layers' names.
    """
    width = x_BTD.shape[-1]
    x_BTF = keras.layers.Dense(hidden_width, name=f"{name}_in")(x_BTD)
    x_BTF = keras.layers.Activation("gelu", name=f"{name}_gelu")(x_BTF)
    return keras.layers.Dense(width, name=f"{name}_out")(x_BTF)


def encoder_layer(
    x_BTD: Tensor,
    is_token_BT: Tensor,
    *,
    num_heads: int,
    mlp_ratio: int,
    dropout_rate: float,
    angles_1T1H: Tensor | None,
    name: str,
) -> Tensor:
    """Attention and feed-forward, each normalised first and added to its input.

    Args:
        x_BTD: Features; D is a multiple of `num_heads`.
        is_token_BT: True where there is a token and not padding.
        num_heads: Heads, > 0.
        mlp_ratio: Width between the feed-forward layers, in D.
        dropout_rate: Share of each branch's output dropped in training, in [0, 1).
        angles_1T1H: From `attention.rotary_angles`; None adds no order.
        name: Prefix of the layers' names.

    Returns:
        Features (B, T, D).
    """
    y_BTD = attention.self_attention(
        layer_norm(x_BTD, name=f"{name}_attention_norm"),
        is_token_BT,
        num_heads=num_heads,
        angles_1T1H=angles_1T1H,
        name=f"{name}_attention",
    )
    x_BTD = _add(x_BTD, y_BTD, dropout_rate=dropout_rate, name=f"{name}_attention")
    y_BTD = feed_forward(
        layer_norm(x_BTD, name=f"{name}_mlp_norm"),
        hidden_width=mlp_ratio * x_BTD.shape[-1],
        name=f"{name}_mlp",
    )
    return _add(x_BTD, y_BTD, dropout_rate=dropout_rate, name=f"{name}_mlp")


def _add(x_BTD: Tensor, y_BTD: Tensor, *, dropout_rate: float, name: str) -> Tensor:
    if dropout_rate > 0:
        y_BTD = keras.layers.Dropout(dropout_rate, name=f"{name}_dropout")(y_BTD)
    return keras.layers.Add(name=f"{name}_add")([x_BTD, y_BTD])
