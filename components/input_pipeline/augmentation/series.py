"""Jitter, scaling and window warping of a batch of series.

Um et al. 2017, https://arxiv.org/abs/1706.00527; Le Guennec et al. 2016 for window warping.

Legend: B batch, T steps, C channels, N values that are forecast.
"""

import tensorflow as tf

from components.input_pipeline.config import AugmentSeriesConfig

# The share of the steps that is warped, and to how much of its length.
_WINDOW_SHARE = 0.1
_WARPED_LENGTHS = (0.5, 2.0)


def augment_series(
    history_BTC: tf.Tensor,
    future_BN: tf.Tensor,
    config: AugmentSeriesConfig,
    *,
    seed_2: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Warps, then scales, then jitters the past of each series; a scaled past has a scaled future.

    Args:
        history_BTC: float32, the value that is forecast first and its covariates after it.
        future_BN: float32, what is forecast.
        config: What to do.
        seed_2: int64 tensor of shape (2,), such as (seed, global step).
    """
    warp_seed_2, scale_seed_2, jitter_seed_2 = tf.unstack(tf.random.split(seed_2, 3), num=3)
    if config.warps_window:
        history_BTC = warp_window(history_BTC, seed_2=warp_seed_2)
    if config.scaling:
        factor_BC = draw_factors(history_BTC, deviation=config.scaling, seed_2=scale_seed_2)
        history_BTC, future_BN = history_BTC * factor_BC[:, None], future_BN * factor_BC[:, :1]
    if config.jitter:
        history_BTC = jitter(history_BTC, deviation=config.jitter, seed_2=jitter_seed_2)
    return history_BTC, future_BN


def jitter(history_BTC: tf.Tensor, *, deviation: float, seed_2: tf.Tensor) -> tf.Tensor:
    """Adds normal noise to every step.

    Args:
        history_BTC: float32 series.
        deviation: Of the noise, as a share of each channel's own standard deviation, >= 0.
        seed_2: int64 tensor of shape (2,).
    """
    deviation_B1C = deviation * tf.math.reduce_std(history_BTC, axis=1, keepdims=True)
    return history_BTC + deviation_B1C * tf.random.stateless_normal(tf.shape(history_BTC), seed_2)


def draw_factors(history_BTC: tf.Tensor, *, deviation: float, seed_2: tf.Tensor) -> tf.Tensor:
    """Draws by what each channel is multiplied: (B, C), normal with mean 1.

    Args:
        history_BTC: float32 series.
        deviation: Standard deviation of the factors, >= 0.
        seed_2: int64 tensor of shape (2,).
    """
    batch, _, channels = tf.unstack(tf.shape(history_BTC))
    return tf.random.stateless_normal((batch, channels), seed_2, mean=1.0, stddev=deviation)


def warp_window(history_BTC: tf.Tensor, *, seed_2: tf.Tensor) -> tf.Tensor:
    """Makes a tenth of each series half or twice as long, and the whole as long as it was.

    Values between steps are interpolated; the first and the last step stay.

    Args:
        history_BTC: float32 series of at least 2 steps.
        seed_2: int64 tensor of shape (2,).
    """
    start_seed_2, length_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    batch, num_steps, _ = tf.unstack(tf.shape(history_BTC))
    last = tf.cast(num_steps - 1, tf.float32)
    window = _WINDOW_SHARE * last
    start_B1 = tf.random.stateless_uniform((batch, 1), start_seed_2) * (last - window)
    is_longer_B1 = tf.random.stateless_uniform((batch, 1), length_seed_2) < 0.5
    ratio_B1 = tf.where(is_longer_B1, _WARPED_LENGTHS[1], _WARPED_LENGTHS[0])
    warped_B1 = window * ratio_B1
    # Where each step of the result lies on the warped axis, and where that lies on the old one.
    total_B1 = last - window + warped_B1
    place_BT = tf.range(num_steps, dtype=tf.float32)[None] / last * total_B1
    within_BT = start_B1 + (place_BT - start_B1) / ratio_B1
    after_BT = place_BT - warped_B1 + window
    old_BT = tf.where(place_BT < start_B1 + warped_B1, within_BT, after_BT)
    return _interpolate(history_BTC, tf.where(place_BT < start_B1, place_BT, old_BT))


def _interpolate(history_BTC: tf.Tensor, places_BT: tf.Tensor) -> tf.Tensor:
    last = tf.shape(history_BTC)[1] - 1
    before_BT = tf.clip_by_value(tf.cast(places_BT, tf.int32), 0, last - 1)
    share_BT1 = tf.clip_by_value(places_BT - tf.cast(before_BT, tf.float32), 0.0, 1.0)[..., None]
    earlier = tf.gather(history_BTC, before_BT, batch_dims=1)
    later = tf.gather(history_BTC, before_BT + 1, batch_dims=1)
    return earlier + share_BT1 * (later - earlier)
