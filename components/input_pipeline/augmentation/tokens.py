"""Token dropout and masking of a batch of texts.

Legend: B batch, T tokens of a text.
"""

from typing import NamedTuple

import tensorflow as tf

from components.input_pipeline.config import AugmentTextConfig

PADDING_ID, UNKNOWN_ID = 0, 1
# Of the tokens that are chosen, https://arxiv.org/abs/1810.04805, section 3.1: so many are masked,
# and half of the others replaced by any token.
_MASKED_SHARE, _RANDOM_SHARE = 0.8, 0.1


class MaskedTokens(NamedTuple):
    """Texts to fill in.

    Attributes:
        token_ids_BT: The texts with some tokens replaced.
        is_chosen_BT: bool, which tokens are to be told; some of them were left as they were.
    """

    token_ids_BT: tf.Tensor
    is_chosen_BT: tf.Tensor


def augment_tokens(
    token_ids_BT: tf.Tensor,
    config: AugmentTextConfig,
    *,
    vocabulary_size: int,
    seed_2: tf.Tensor,
) -> tf.Tensor:
    """Drops tokens of each text, then masks some of those that are left.

    Args:
        token_ids_BT: int32 ids; 0 is padding and stays.
        config: What to do.
        vocabulary_size: Number of ids, padding and unknown included.
        seed_2: int64 tensor of shape (2,), such as (seed, global step).
    """
    dropout_seed_2, mask_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    if config.dropout_probability:
        token_ids_BT = drop_tokens(
            token_ids_BT, probability=config.dropout_probability, seed_2=dropout_seed_2
        )
    if config.mask_probability:
        masked = mask_tokens(
            token_ids_BT,
            probability=config.mask_probability,
            mask_id=UNKNOWN_ID,
            vocabulary_size=vocabulary_size,
            seed_2=mask_seed_2,
        )
        token_ids_BT = masked.token_ids_BT
    return token_ids_BT


def drop_tokens(token_ids_BT: tf.Tensor, *, probability: float, seed_2: tf.Tensor) -> tf.Tensor:
    """Replaces tokens by the unknown one, each by chance (https://arxiv.org/abs/1511.06349).

    Args:
        token_ids_BT: int32 ids; 0 is padding and stays.
        probability: In [0, 1).
        seed_2: int64 tensor of shape (2,).
    """
    is_dropped_BT = _draw(token_ids_BT, seed_2) < probability
    return tf.where(is_dropped_BT & (token_ids_BT != PADDING_ID), UNKNOWN_ID, token_ids_BT)


def mask_tokens(
    token_ids_BT: tf.Tensor,
    *,
    probability: float,
    mask_id: int,
    vocabulary_size: int,
    seed_2: tf.Tensor,
) -> MaskedTokens:
    """Chooses tokens as BERT does: 80 % of them are masked, 10 % any token, 10 % left as they are.

    Args:
        token_ids_BT: int32 ids; 0 is padding and never chosen.
        probability: Of being chosen, in [0, 1); the paper has 0.15.
        mask_id: What masks a token.
        vocabulary_size: Number of ids, padding and unknown included, > 2.
        seed_2: int64 tensor of shape (2,).
    """
    chance_seed_2, kind_seed_2, token_seed_2 = tf.unstack(tf.random.split(seed_2, 3), num=3)
    is_chosen_BT = (_draw(token_ids_BT, chance_seed_2) < probability) & (token_ids_BT != PADDING_ID)
    kind_BT = _draw(token_ids_BT, kind_seed_2)
    any_token_BT = tf.random.stateless_uniform(
        tf.shape(token_ids_BT), token_seed_2, UNKNOWN_ID + 1, vocabulary_size, tf.int32
    )
    replaced_BT = tf.where(kind_BT < _MASKED_SHARE + _RANDOM_SHARE, any_token_BT, token_ids_BT)
    replaced_BT = tf.where(kind_BT < _MASKED_SHARE, mask_id, replaced_BT)
    return MaskedTokens(tf.where(is_chosen_BT, replaced_BT, token_ids_BT), is_chosen_BT)


def _draw(token_ids_BT: tf.Tensor, seed_2: tf.Tensor) -> tf.Tensor:
    return tf.random.stateless_uniform(tf.shape(token_ids_BT), seed_2)
