"""The mean of a text's word vectors: the baseline that a transformer has to beat.

Axes: B batch, T tokens.
"""

import keras

from models import config
from models.blocks import image_io, text_io


def build(
    bag: config.BagOfEmbeddingsConfig, *, vocabulary_size: int, max_tokens: int, num_classes: int
) -> keras.Model:
    """Builds fastText's classifier (https://arxiv.org/abs/1607.01759): it trains in seconds.

    It knows which words a text has, and nothing of their order.

    Args:
        bag: The architecture's settings.
        vocabulary_size: Number of different tokens V, padding (0) included; >= 2.
        max_tokens: Length of the longest text; longer ones work as well.
        num_classes: Number of classes K, >= 2.

    Returns:
        A model from `token_ids` (int32 in [0, V), (B, T), 0 is padding) to
        `{"logits": float32 (B, K)}`.

    Raises:
        ValueError: If a size is too small.

    >>> bag = config.BagOfEmbeddingsConfig(architecture="bag_of_embeddings", width=16)
    >>> build(bag, vocabulary_size=100, max_tokens=8, num_classes=2).count_params()
    1634
    """
    token_ids_BT, is_token_BT = text_io.token_input(
        vocabulary_size=vocabulary_size, max_tokens=max_tokens
    )
    x_BTD = text_io.embed(token_ids_BT, vocabulary_size=vocabulary_size, width=bag.width)
    return image_io.classifier(
        "bag_of_embeddings",
        token_ids_BT,
        text_io.masked_mean(x_BTD, is_token_BT),
        num_classes=num_classes,
        dropout_rate=bag.dropout_rate,
    )
