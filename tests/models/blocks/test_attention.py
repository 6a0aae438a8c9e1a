"""Attention against a plain numpy version of its formulas.

Axes: B batch, T tokens, D features, N heads, H features of a head.
"""

import keras
import numpy as np
import pytest

from models.blocks import attention

NUM_HEADS = 2
WIDTH = 8
HEAD_WIDTH = WIDTH // NUM_HEADS


def _model(*, rotary):
    keras.utils.set_random_seed(0)
    x_BTD = keras.Input((None, WIDTH))
    is_token_BT = keras.Input((None,), dtype="bool")
    angles_1T1H = None
    if rotary:
        positions_1T = attention.positions_of(keras.ops.cast(is_token_BT, "int32"))
        angles_1T1H = attention.rotary_angles(positions_1T, head_width=HEAD_WIDTH)
    y_BTD = attention.self_attention(
        x_BTD, is_token_BT, num_heads=NUM_HEADS, angles_1T1H=angles_1T1H, name="attention"
    )
    return keras.Model([x_BTD, is_token_BT], y_BTD)


def _inputs():
    x_BTD = np.random.default_rng(0).normal(size=(3, 5, WIDTH)).astype("float32")
    is_token_BT = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 1, 0, 1]], bool)
    return x_BTD, is_token_BT


def _turned(x_TH):
    """Features i and i + H/2 are a complex number, turned by position * 10000^(-2i/H)."""
    half = HEAD_WIDTH // 2
    pairs_TH = x_TH[:, :half] + 1j * x_TH[:, half:]
    speed_H = 10_000.0 ** (-2 * np.arange(half) / HEAD_WIDTH)
    pairs_TH = pairs_TH * np.exp(1j * np.arange(len(x_TH))[:, None] * speed_H)
    return np.concatenate([pairs_TH.real, pairs_TH.imag], axis=1)


def _attend(x_TD, is_token_T, weights, *, rotary):
    """One text, head by head; padding is left out of the sums rather than masked."""
    qkv_kernel, qkv_bias, out_kernel, out_bias = weights
    heads = np.split((x_TD @ qkv_kernel + qkv_bias).astype("float64"), 3 * NUM_HEADS, axis=1)
    outputs = []
    for head in range(NUM_HEADS):
        query_TH, key_TH, value_TH = (heads[part * NUM_HEADS + head] for part in range(3))
        if rotary:
            query_TH, key_TH = _turned(query_TH), _turned(key_TH)
        scores_TT = query_TH @ key_TH[is_token_T].T / np.sqrt(HEAD_WIDTH)
        shares_TT = np.exp(scores_TT) / np.exp(scores_TT).sum(axis=1, keepdims=True)
        outputs.append(shares_TT @ value_TH[is_token_T])
    return np.concatenate(outputs, axis=1) @ out_kernel + out_bias


@pytest.mark.parametrize("rotary", [False, True])
def test_attention_is_the_formula_over_tokens_alone(rotary):
    model = _model(rotary=rotary)
    x_BTD, is_token_BT = _inputs()
    expected_BTD = [
        _attend(x_TD, is_token_T, model.get_weights(), rotary=rotary)
        for x_TD, is_token_T in zip(x_BTD, is_token_BT, strict=True)
    ]
    np.testing.assert_allclose(model([x_BTD, is_token_BT]), expected_BTD, atol=1e-5)


def test_text_without_tokens_gives_finite_features():
    model = _model(rotary=True)
    x_BTD, is_token_BT = _inputs()
    assert np.isfinite(model([x_BTD, np.zeros_like(is_token_BT)])).all()


def test_rotary_scores_depend_on_distance_alone():
    x_TH = np.random.default_rng(1).normal(size=(1, HEAD_WIDTH)).repeat(6, axis=0)
    turned_TH = _turned(x_TH)
    scores_TT = turned_TH @ turned_TH.T
    np.testing.assert_allclose(np.diag(scores_TT, 2), scores_TT[0, 2])
    positions_1T = np.arange(6)[None]
    angles_TH = np.array(attention.rotary_angles(positions_1T, head_width=HEAD_WIDTH))[0, :, 0]
    np.testing.assert_allclose(angles_TH[:, 0], np.arange(6))
    np.testing.assert_allclose(angles_TH[:, 1], np.arange(6) / 100, rtol=1e-5)
