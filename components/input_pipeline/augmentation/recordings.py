"""Time shift and noise of a batch of recordings.

Legend: B batch, N samples of a recording.
"""

import tensorflow as tf

from components.input_pipeline.config import AugmentAudioConfig


def augment_recordings(
    samples_BN: tf.Tensor, config: AugmentAudioConfig, *, seed_2: tf.Tensor
) -> tf.Tensor:
    """Shifts each recording in time, then adds noise to it.

    Args:
        samples_BN: float32 samples; silence is 0.
        config: What to do.
        seed_2: int64 tensor of shape (2,), such as (seed, global step).
    """
    shift_seed_2, noise_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    if config.max_shift_share:
        samples_BN = shift(samples_BN, max_share=config.max_shift_share, seed_2=shift_seed_2)
    if config.noise_snr_db is not None:
        samples_BN = add_noise(samples_BN, snr_db=config.noise_snr_db, seed_2=noise_seed_2)
    return samples_BN


def shift(samples_BN: tf.Tensor, *, max_share: float, seed_2: tf.Tensor) -> tf.Tensor:
    """Moves each recording by whole samples, earlier or later, and fills up with silence.

    Args:
        samples_BN: float32 samples.
        max_share: Longest way, as a share of the recording, in [0, 1).
        seed_2: int64 tensor of shape (2,).
    """
    batch, num_samples = tf.unstack(tf.shape(samples_BN))
    longest = tf.cast(max_share * tf.cast(num_samples, tf.float32), tf.int32)
    shift_B = tf.random.stateless_uniform((batch,), seed_2, -longest, longest + 1, tf.int32)
    places_BN = tf.range(num_samples)[None] - shift_B[:, None]
    is_inside_BN = (places_BN >= 0) & (places_BN < num_samples)
    moved_BN = tf.gather(samples_BN, tf.clip_by_value(places_BN, 0, num_samples - 1), batch_dims=1)
    return tf.where(is_inside_BN, moved_BN, 0.0)


def add_noise(
    samples_BN: tf.Tensor, *, snr_db: tuple[float, float], seed_2: tf.Tensor
) -> tf.Tensor:
    """Adds white noise, as loud as a signal-to-noise ratio says; silence stays silent.

    Args:
        samples_BN: float32 samples.
        snr_db: Between which ratios each recording's is drawn: its own mean power to the noise's.
        seed_2: int64 tensor of shape (2,).
    """
    ratio_seed_2, noise_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    snr_db_B1 = tf.random.stateless_uniform((tf.shape(samples_BN)[0], 1), ratio_seed_2, *snr_db)
    power_B1 = tf.reduce_mean(tf.square(samples_BN), axis=1, keepdims=True)
    deviation_B1 = tf.sqrt(power_B1 / tf.pow(10.0, snr_db_B1 / 10.0))
    return samples_BN + deviation_B1 * tf.random.stateless_normal(
        tf.shape(samples_BN), noise_seed_2
    )
