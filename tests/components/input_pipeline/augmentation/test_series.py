import numpy as np
import tensorflow as tf

from components.input_pipeline.augmentation import series
from components.input_pipeline.config import AugmentSeriesConfig

SEED_2 = tf.constant([3, 8], tf.int64)
GENERATOR = np.random.default_rng(0)
HISTORY_BTC = GENERATOR.normal((50.0, -2.0), (10.0, 0.1), (300, 101, 2)).astype("float32")
FUTURE_BN = GENERATOR.normal(50.0, 10.0, (300, 4)).astype("float32")


def test_jitter_is_a_share_of_each_channels_own_deviation():
    noisy = series.jitter(tf.constant(HISTORY_BTC), deviation=0.05, seed_2=SEED_2).numpy()
    share_C = (noisy - HISTORY_BTC).std((0, 1)) / HISTORY_BTC.std((0, 1))
    np.testing.assert_allclose(share_C, 0.05, rtol=0.03)


def test_scaling_multiplies_a_channel_and_the_future_of_the_first():
    config = AugmentSeriesConfig(scaling=0.1)
    history, future = series.augment_series(
        tf.constant(HISTORY_BTC), tf.constant(FUTURE_BN), config, seed_2=SEED_2
    )
    factor_BTC = history.numpy() / HISTORY_BTC
    assert np.ptp(factor_BTC, axis=1).max() < 1e-4
    factor_BC = factor_BTC[:, 0]
    assert abs(factor_BC.mean() - 1) < 0.015 and abs(factor_BC.std() - 0.1) < 0.01
    assert abs(np.corrcoef(factor_BC.T)[0, 1]) < 0.2
    np.testing.assert_allclose(future, FUTURE_BN * factor_BC[:, :1], rtol=1e-5)


def warp(history):
    return series.warp_window(tf.constant(history), seed_2=SEED_2).numpy()


def test_warped_ramp_rises_at_three_speeds():
    """What is in a tenth of the ramp rises half or twice as fast as the rest."""
    ramp = np.broadcast_to(np.arange(101, dtype="float32")[None, :, None], (300, 101, 1))
    speed_BT = np.diff(warp(ramp)[..., 0])
    rest_B = np.median(speed_BT, axis=1)
    is_slow_B, is_fast_B = speed_BT.min(1) < 0.6 * rest_B, speed_BT.max(1) > 1.9 * rest_B
    assert (is_slow_B ^ is_fast_B).all() and 100 < is_slow_B.sum() < 200
    # 90 steps at the usual speed and 10 that become 20 or 5, in 100 steps.
    np.testing.assert_allclose(rest_B[is_slow_B], 1.1, rtol=1e-3)
    np.testing.assert_allclose(rest_B[is_fast_B], 0.95, rtol=1e-3)
    num_steps_B = (np.abs(speed_BT / rest_B[:, None] - 1) > 0.4).sum(1)
    assert np.abs(num_steps_B[is_slow_B] - 20 / 1.1).max() <= 1.5
    assert np.abs(num_steps_B[is_fast_B] - 5 / 0.95).max() <= 1.5


def test_warping_keeps_the_first_and_the_last_step():
    np.testing.assert_allclose(warp(HISTORY_BTC)[:, [0, -1]], HISTORY_BTC[:, [0, -1]], rtol=1e-3)


def test_warping_of_a_short_series_stays_within_its_values():
    short = HISTORY_BTC[:, :2]
    np.testing.assert_allclose(warp(short), short, rtol=1e-4)
