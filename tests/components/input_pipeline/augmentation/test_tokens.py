import numpy as np
import tensorflow as tf

from components.input_pipeline.augmentation import tokens
from components.input_pipeline.config import AugmentTextConfig

SEED_2 = tf.constant([3, 8], tf.int64)
VOCABULARY = 1000
LENGTHS_B = np.arange(400) % 60 + 5
# Texts of different lengths, padded with 0, without the unknown token 1.
IDS_BT = np.where(
    np.arange(64) < LENGTHS_B[:, None],
    np.random.default_rng(0).integers(2, VOCABULARY, (400, 64)),
    0,
).astype("int32")
IS_TOKEN_BT = IDS_BT > 0


def test_dropout_replaces_a_share_of_the_tokens_and_no_padding():
    dropped = tokens.drop_tokens(tf.constant(IDS_BT), probability=0.2, seed_2=SEED_2).numpy()
    is_changed = dropped != IDS_BT
    assert set(dropped[is_changed]) == {1}
    assert not is_changed[~IS_TOKEN_BT].any()
    assert abs(is_changed[IS_TOKEN_BT].mean() - 0.2) < 0.02


def mask(probability=0.15):
    masked = tokens.mask_tokens(
        tf.constant(IDS_BT),
        probability=probability,
        mask_id=VOCABULARY,
        vocabulary_size=VOCABULARY,
        seed_2=SEED_2,
    )
    return masked.token_ids_BT.numpy(), masked.is_chosen_BT.numpy()


def test_masking_chooses_a_share_of_the_tokens_and_no_padding():
    changed, is_chosen = mask()
    assert not is_chosen[~IS_TOKEN_BT].any()
    assert abs(is_chosen[IS_TOKEN_BT].mean() - 0.15) < 0.015
    np.testing.assert_array_equal(changed[~is_chosen], IDS_BT[~is_chosen])


def test_chosen_tokens_are_masked_replaced_and_kept_80_10_10():
    changed, is_chosen = mask(probability=0.9)
    found, old = changed[is_chosen], IDS_BT[is_chosen]
    assert abs((found == VOCABULARY).mean() - 0.8) < 0.015
    assert abs((found == old).mean() - 0.1) < 0.01
    others = found[(found != VOCABULARY) & (found != old)]
    assert abs(len(others) / len(found) - 0.1) < 0.01
    assert others.min() >= 2 and others.max() < VOCABULARY and len(np.unique(others)) > 400


def test_both_together_are_a_function_of_the_seed():
    config = AugmentTextConfig(dropout_probability=0.1, mask_probability=0.15)
    first, again, other = (
        tokens.augment_tokens(
            tf.constant(IDS_BT),
            config,
            vocabulary_size=VOCABULARY,
            seed_2=tf.constant([1, step], tf.int64),
        ).numpy()
        for step in (4, 4, 5)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.max() < VOCABULARY and not first[~IS_TOKEN_BT].any()
