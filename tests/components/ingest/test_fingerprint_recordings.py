import io
import wave

import numpy as np
import pytest

from components.ingest import fingerprint_recordings

RATE_HZ = 8000


def wav(samples: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return buffer.getvalue()


def beats(rate: int, pitch_hz: float) -> np.ndarray:
    """Four seconds of a tone that swells `rate` times a second."""
    times = np.arange(4 * RATE_HZ) / RATE_HZ
    swell = (1 - np.cos(2 * np.pi * rate * times)) / 2
    return 0.5 * swell * np.sin(2 * np.pi * pitch_hz * times)


@pytest.mark.parametrize(("rate", "pitch_hz"), [(2, 250), (5, 1000), (11, 3000)])
def test_a_tone_that_swells_shows_at_its_rate_and_in_its_band(rate, pitch_hz):
    swing, rhythm = fingerprint_recordings.recording_look(wav(beats(rate, pitch_hz)))
    mels = np.log1p(np.array([pitch_hz, RATE_HZ / 2]) / 700)
    band = int(mels[0] / mels[1] * 16)
    largest = np.unravel_index(np.abs(rhythm).argmax(), rhythm.shape)
    assert largest == (rate - 1, band, 0) and rhythm[largest] == 127
    assert swing == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("num_samples", [1, 40, 400])
def test_the_shortest_recordings_have_a_look(num_samples):
    swing, rhythm = fingerprint_recordings.recording_look(wav(np.full(num_samples, 0.25)))
    assert swing == 0 and not rhythm.any()


def test_a_long_recording_is_looked_at_in_parts_without_a_seam():
    generator = np.random.default_rng(0)
    # More frames than are looked at together.
    samples = np.tile(generator.normal(0, 0.1, RATE_HZ), 24).clip(-1, 1)
    _, long = fingerprint_recordings.recording_look(wav(samples))
    _, short = fingerprint_recordings.recording_look(wav(samples[: 4 * RATE_HZ]))
    long, short = (look.ravel().astype(float) for look in (long, short))
    product = long @ short / np.linalg.norm(long) / np.linalg.norm(short)
    assert product > 0.98
