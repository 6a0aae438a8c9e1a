import io

import numpy as np
import pytest
import soundfile
import tensorflow as tf

from serving.export import recordings


def encode(samples: np.ndarray, *, rate_hz: int = 8000, **options) -> bytes:
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate_hz, **{"format": "WAV", "subtype": "PCM_16", **options})
    return stream.getvalue()


def decode(*encoded: bytes, num_samples: int = 100) -> np.ndarray:
    batch = tf.constant(list(encoded), tf.string)
    return recordings.decode_recordings(batch, sample_rate_hz=8000, num_samples=num_samples).numpy()


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, shape)


def test_samples_are_those_that_libsndfile_reads():
    encoded = encode(noise(100))
    expected, _ = soundfile.read(io.BytesIO(encoded), dtype="float32")
    np.testing.assert_array_equal(decode(encoded)[0], expected)


def test_channels_become_their_mean():
    samples_N2 = noise(100, 2)
    np.testing.assert_allclose(decode(encode(samples_N2))[0], samples_N2.mean(1), atol=1e-4)


def test_a_short_recording_is_followed_by_silence():
    np.testing.assert_array_equal(decode(encode(noise(40)))[0, 40:], np.zeros(60))


def test_a_long_recording_is_cut_off_at_its_end():
    samples_N = noise(500)
    np.testing.assert_allclose(decode(encode(samples_N))[0], samples_N[:100], atol=1e-4)


def test_a_batch_may_mix_lengths_and_be_empty():
    assert decode(encode(noise(40)), encode(noise(500))).shape == (2, 100)
    assert decode().shape == (0, 100)


def test_another_rate_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have 8000 samples per second"):
        decode(encode(noise(100), rate_hz=16000))


@pytest.mark.parametrize("garbage", [b"", b"RIFF", b"not a recording", encode(noise(100))[:50]])
def test_bytes_that_are_no_recording_are_refused(garbage):
    with pytest.raises(tf.errors.InvalidArgumentError):
        decode(garbage)


def test_impossible_lengths_are_refused():
    with pytest.raises(ValueError, match="must be positive. Received: sample_rate_hz=8000, num"):
        decode(num_samples=0)
