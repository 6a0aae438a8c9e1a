import numpy as np
import pytest
import tensorflow as tf

from components.input_pipeline.augmentation import recordings
from components.input_pipeline.config import AugmentAudioConfig

SEED_2 = tf.constant([3, 8], tf.int64)
SAMPLES_BN = np.random.default_rng(0).normal(0, 0.2, (300, 50)).astype("float32")


def test_shift_moves_by_every_distance_and_fills_with_silence():
    moved = recordings.shift(tf.constant(SAMPLES_BN), max_share=0.1, seed_2=SEED_2).numpy()
    padded = np.pad(SAMPLES_BN, ((0, 0), (5, 5)))
    found = set()
    for number, row in enumerate(moved):
        (start,) = [s for s in range(11) if np.array_equal(row, padded[number, s : s + 50])]
        found.add(start)
    assert found == set(range(11))


def test_noise_has_the_drawn_ratio_to_the_recordings_own_power():
    tone = np.sin(np.arange(8000) / 5).astype("float32") * np.linspace(0.1, 1, 200)[:, None]
    noisy = recordings.add_noise(
        tf.constant(tone, tf.float32), snr_db=(5.0, 25.0), seed_2=SEED_2
    ).numpy()
    ratio_db = 10 * np.log10((tone**2).mean(1) / ((noisy - tone) ** 2).mean(1))
    assert 4.7 < ratio_db.min() < 6 and 24 < ratio_db.max() < 25.3
    assert abs(ratio_db.mean() - 15) < 1.5
    assert abs(np.corrcoef(ratio_db, (tone**2).mean(1))[0, 1]) < 0.2


def test_silence_stays_silent():
    silence = tf.zeros((2, 100))
    noisy = recordings.add_noise(silence, snr_db=(0.0, 1.0), seed_2=SEED_2)
    np.testing.assert_array_equal(noisy, silence)


def test_both_are_functions_of_the_seed():
    config = AugmentAudioConfig(max_shift_share=0.2, noise_snr_db=(10.0, 20.0))
    first, again, other = (
        recordings.augment_recordings(
            tf.constant(SAMPLES_BN), config, seed_2=tf.constant([1, step], tf.int64)
        ).numpy()
        for step in (4, 4, 5)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_ratios_in_the_wrong_order_are_refused():
    with pytest.raises(ValueError, match=r"noise_snr_db=\[20.0, 10.0\]. Exchange the two"):
        AugmentAudioConfig.from_dict({"noise_snr_db": [20.0, 10.0]})
