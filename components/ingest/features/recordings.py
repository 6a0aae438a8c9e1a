"""Recordings: brought to the one form that training and serving decode, 16-bit mono WAV."""

import fractions
import io

import numpy as np
import scipy.signal
import soundfile

from components.ingest.errors import RowError
from components.ingest.features.config import AudioFeature

# What a sample of 16 bits is divided by.
_FULL_SCALE = 32768.0


def normalise_recording(content: bytes, feature: AudioFeature) -> bytes:
    """Checks a file that a user gave by decoding it, and makes it a WAV file of 16-bit PCM.

    One that is this already, with one channel, is kept byte for byte. Others that libsndfile reads
    (FLAC, Ogg, MP3, other WAV files) are written anew, several channels as their mean.

    Args:
        content: The whole file.
        feature: The recipe's `[data.audio]`.

    Raises:
        RowError: If it is empty, damaged or no recording, or its rate may not differ.
    """
    if not content:
        raise RowError("the file is empty")
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            is_plain = (file.format, file.subtype, file.channels) == ("WAV", "PCM_16", 1)
            rate_hz = file.samplerate
            samples_NC = file.read(dtype="float64", always_2d=True)
            is_whole = len(samples_NC) == file.frames
    except (soundfile.SoundFileError, RuntimeError) as error:
        raise RowError("it is not a recording that libsndfile can read") from error
    if not is_whole:
        raise RowError("the recording ends before its header says")
    if not samples_NC.size:
        raise RowError("the recording holds no samples")
    if not np.isfinite(samples_NC).all():
        raise RowError("the recording holds samples that are not finite")
    if rate_hz == feature.sample_rate_hz and is_plain:
        return content
    return _encode(_resample(samples_NC.mean(1), rate_hz, feature), feature.sample_rate_hz)


def encode_samples(samples_N: np.ndarray, rate_hz: int) -> bytes:
    """Returns samples as a WAV file of 16-bit PCM.

    Args:
        samples_N: Floats in [-1, 1], or integers of 16 bits.
        rate_hz: Samples per second.
    """
    is_pcm = np.issubdtype(samples_N.dtype, np.integer)
    return _encode(samples_N / _FULL_SCALE if is_pcm else samples_N, rate_hz)


def _resample(samples_N: np.ndarray, rate_hz: int, feature: AudioFeature) -> np.ndarray:
    if rate_hz == feature.sample_rate_hz:
        return samples_N
    if not feature.resample:
        raise RowError(
            f"it has {rate_hz} samples per second instead of {feature.sample_rate_hz}: correct "
            "data.audio.sample_rate_hz, or set data.audio.resample = true"
        )
    ratio = fractions.Fraction(feature.sample_rate_hz, rate_hz)
    resampled_N: np.ndarray = scipy.signal.resample_poly(
        samples_N, ratio.numerator, ratio.denominator
    )
    return resampled_N


def _encode(samples_N: np.ndarray, rate_hz: int) -> bytes:
    buffer = io.BytesIO()
    clipped_N = np.clip(samples_N, -1.0, 1.0)
    soundfile.write(buffer, clipped_N, rate_hz, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
