"""The mean of a text's word vectors: the baseline that a transformer has to beat.

Axes: B batch, T tokens.
"""

import keras

from models import config
from models.blocks import heads, text_io


def build(
    bag: config.BagOfEmbeddingsConfig, *, vocabulary_size: int, max_tokens: int, head: heads.Head
) -> keras.Model:
    """Builds fastText's network (https://arxiv.org/abs/1607.01759): it trains in seconds.

    It knows which words a text has, and nothing of their order.

    Args:
        bag: The architecture's settings.
        vocabulary_size: Number of different tokens V, padding (0) included; >= 2.
        max_tokens: Length of the longest text; longer ones work as well.
        head: What the model ends with.

    Returns:
        A model from `token_ids` (int32 in [0, V), (B, T), 0 is padding) to
        what the head gives.

    Raises:
        ValueError: If a size is too small.

    >>> bag = config.BagOfEmbeddingsConfig(architecture="bag_of_embeddings", width=16)
    >>> head = heads.Classes(num_classes=2)
    >>> build(bag, vocabulary_size=100, max_tokens=8, head=head).count_params()
    1634
    """
    token_ids_BT, is_token_BT = text_io.token_input(
        vocabulary_size=vocabulary_size, max_tokens=max_tokens
    )
    x_BTD = text_io.embed(token_ids_BT, vocabulary_size=vocabulary_size, width=bag.width)
    return heads.finish(
        "bag_of_embeddings",
        token_ids_BT,
        text_io.masked_mean(x_BTD, is_token_BT),
        head=head,
        dropout_rate=bag.dropout_rate,
    )
