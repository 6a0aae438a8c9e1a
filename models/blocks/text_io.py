"""The beginning of every text model, and the pooling that ends an encoder.

Axes: B batch, T tokens, D features.
"""

import keras

from models.blocks.heads import Tensor

PADDING_ID = 0


def token_input(*, vocabulary_size: int, max_tokens: int) -> tuple[Tensor, Tensor]:
    """Starts a text model.

    Args:
        vocabulary_size: Number of different tokens V, padding (0) included; >= 2.
        max_tokens: Length of the longest text, > 0. Shorter batches are welcome: the axis T is
            open, so that short texts take less time.

    Returns:
        The input named `token_ids` (int32 in [0, V), (B, T), 0 is padding), and where it holds a
        token (bool, (B, T)).

    Raises:
        ValueError: If there is no token besides padding, or no room for one.
    """
    if vocabulary_size < 2:
        raise ValueError(
            "`vocabulary_size` must be at least 2: padding and one token. "
            f"Received: vocabulary_size={vocabulary_size}."
        )
    if max_tokens < 1:
        raise ValueError(f"`max_tokens` must be at least 1. Received: max_tokens={max_tokens}.")
    token_ids_BT = keras.Input((None,), dtype="int32", name="token_ids")
    return token_ids_BT, keras.ops.not_equal(token_ids_BT, PADDING_ID)


def embed(token_ids_BT: Tensor, *, vocabulary_size: int, width: int) -> Tensor:
    """Looks up a learned vector for each token.

    Args:
        token_ids_BT: As `token_input` returned it.
        vocabulary_size: Number of different tokens V.
        width: Features D of a token.

    Returns:
        Features (B, T, D) in the policy's compute dtype.
    """
    return keras.layers.Embedding(
        vocabulary_size,
        width,
        # The scale of GPT and BERT: sums of token and position stay small beside the weights.
        embeddings_initializer=keras.initializers.RandomNormal(stddev=0.02),
        name="token_embedding",
    )(token_ids_BT)


def masked_mean(x_BTD: Tensor, is_token_BT: Tensor) -> Tensor:
    """Averages over the tokens of each text, in float32; a text without tokens gives zeros.

    Args:
        x_BTD: Features.
        is_token_BT: True where there is a token and not padding.

    Returns:
        Features (B, D), float32.
    """
    # A sum over hundreds of tokens would lose its small terms in half precision.
    weights_BT1 = keras.ops.expand_dims(keras.ops.cast(is_token_BT, "float32"), -1)
    sums_BD = keras.ops.sum(keras.ops.cast(x_BTD, "float32") * weights_BT1, axis=1)
    return sums_BD / keras.ops.maximum(keras.ops.sum(weights_BT1, axis=1), 1.0)
