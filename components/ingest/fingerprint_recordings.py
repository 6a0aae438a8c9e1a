"""The look of a recording in its fingerprint: how far it swings, and its rhythm.

The rhythm is how loudness rises and falls in NUM_BANDS bands of pitch, at NUM_RATES rates, once to
16 times a second, and in which order the bands do so. It stays the same when the recording is
softer, begins later or was compressed and decoded again.

Legend: N samples, T frames, F frequencies, B bands, M rates.
"""

import functools
import io
import wave

import numpy as np

NUM_BANDS, NUM_RATES = 16, 16
FIELDS = [("swing", "<f4"), ("rhythm", "i1", (NUM_RATES, NUM_BANDS, 2))]

_FRAME_SECS = 0.032
_FRAMES_AT_ONCE = 1024
_MAX = 127


def recording_look(content: bytes) -> tuple[float, np.ndarray]:
    """Returns the look of a WAV file of 16-bit PCM with one channel.

    Returns:
        The largest distance of a sample from their mean, in [0, 1], and the rhythm, int8
        (NUM_RATES, NUM_BANDS, 2), whose largest number is 127; zeros where there is no sound.
    """
    with wave.open(io.BytesIO(content)) as file:
        rate_hz = file.getframerate()
        samples_N = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32)
    samples_N = (samples_N - samples_N.mean()) / np.float32(2**15)
    return float(np.abs(samples_N).max()), _rhythm(samples_N, rate_hz)


def _rhythm(samples_N: np.ndarray, rate_hz: int) -> np.ndarray:
    sums_MB = np.zeros((NUM_RATES, NUM_BANDS), np.complex64)
    frame = max(16, 2 * round(_FRAME_SECS * rate_hz / 2))
    hop = frame // 2
    # So that each sample counts alike, those at both ends too.
    padded_N = np.pad(samples_N, frame)
    frames_TN = np.lib.stride_tricks.sliding_window_view(padded_N, frame)[::hop]
    turns_M = -2j * np.pi * np.arange(1, NUM_RATES + 1) * hop / rate_hz
    for first in range(0, len(frames_TN), _FRAMES_AT_ONCE):
        part_TN = frames_TN[first : first + _FRAMES_AT_ONCE] * np.hanning(frame).astype(np.float32)
        powers_TF = np.abs(np.fft.rfft(part_TN)) ** 2
        levels_TB = np.sqrt(powers_TF @ _band_matrix(frame, rate_hz))
        times_T = np.arange(first, first + len(part_TN))
        sums_MB += np.exp(turns_M[:, None] * times_T) @ levels_TB
    # Measured against the sum of all bands, a phase says nothing of when the recording begins. A
    # weak sum has no phase to speak of, and so counts little.
    total_M1 = sums_MB.sum(1, keepdims=True)
    weight_M1 = np.abs(sums_MB).sum(1, keepdims=True)
    turned_MB = sums_MB * np.conj(total_M1) / np.where(weight_M1 > 0, weight_M1, 1)
    rhythm = np.stack([turned_MB.real, turned_MB.imag], axis=-1)
    largest = np.abs(rhythm).max()
    return np.rint(rhythm * (_MAX / largest if largest > 0 else 0)).astype(np.int8)


@functools.lru_cache(4)
def _band_matrix(frame: int, rate_hz: int) -> np.ndarray:
    """Weights (F, NUM_BANDS) that sum a frame's powers in bands of equal width in mel."""
    mels_F = np.log1p(np.fft.rfftfreq(frame, 1 / rate_hz) / 700)
    bands_F = np.minimum(mels_F / mels_F[-1] * NUM_BANDS, NUM_BANDS - 1).astype(int)
    return np.eye(NUM_BANDS, dtype=np.float32)[bands_F]
