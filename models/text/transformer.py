"""A transformer encoder that classifies texts, with pre-normalisation.

Axes: B batch, T tokens, D features, H features of a head.
"""

import keras

from models import config
from models.blocks import attention, encoder, heads, text_io


def build(
    transformer: config.TransformerConfig,
    *,
    vocabulary_size: int,
    max_tokens: int,
    head: heads.Head,
) -> keras.Model:
    """Builds the encoder: each token reads the others, then the mean over the tokens is classified.

    Padding at the end of a text, however long, changes nothing. The normalisation comes before
    each layer, so that it trains without a long warm-up (https://arxiv.org/abs/2002.04745).

    Args:
        transformer: The architecture's settings.
        vocabulary_size: Number of different tokens V, padding (0) included; >= 2.
        max_tokens: Length of the longest text. With learned positions there are no more of them;
            rotary ones go on.
        head: What the model ends with.

    Returns:
        A model from `token_ids` (int32 in [0, V), (B, T), 0 is padding) to
        what the head gives.

    Raises:
        ValueError: If a size is too small.

    >>> transformer = config.TransformerConfig(architecture="transformer", width=16)
    >>> head = heads.Classes(num_classes=2)
    >>> build(transformer, vocabulary_size=100, max_tokens=8, head=head).output["logits"].shape
    (None, 2)
    """
    token_ids_BT, is_token_BT = text_io.token_input(
        vocabulary_size=vocabulary_size, max_tokens=max_tokens
    )
    x_BTD = text_io.embed(token_ids_BT, vocabulary_size=vocabulary_size, width=transformer.width)
    positions_1T = attention.positions_of(token_ids_BT)
    angles_1T1H = None
    if transformer.positions == "learned":
        x_BTD = _add_positions(x_BTD, positions_1T, max_tokens=max_tokens)
    else:
        head_width = transformer.width // transformer.num_heads
        angles_1T1H = attention.rotary_angles(positions_1T, head_width=head_width)
    for index in range(transformer.num_layers):
        x_BTD = encoder.encoder_layer(
            x_BTD,
            is_token_BT,
            num_heads=transformer.num_heads,
            mlp_ratio=transformer.mlp_ratio,
            dropout_rate=transformer.dropout_rate,
            angles_1T1H=angles_1T1H,
            name=f"layer{index + 1}",
        )
    x_BTD = encoder.layer_norm(x_BTD, name="final_norm")
    return heads.finish(
        "transformer",
        token_ids_BT,
        text_io.masked_mean(x_BTD, is_token_BT),
        head=head,
        dropout_rate=transformer.dropout_rate,
    )


def _add_positions(
    x_BTD: heads.Tensor, positions_1T: heads.Tensor, *, max_tokens: int
) -> heads.Tensor:
    embedding = keras.layers.Embedding(
        max_tokens,
        x_BTD.shape[-1],
        embeddings_initializer=keras.initializers.RandomNormal(stddev=0.02),
        name="position_embedding",
    )
    return keras.layers.Add(name="add_positions")([x_BTD, embedding(positions_1T)])
