"""A convolutional network over the mel spectrogram, which the model itself computes.

Axes: B batch, N samples, T frames, M mel bands, F features.
"""

import keras

from models import config, inputs
from models.blocks import conv_stack, heads, spec_augment

_MS_PER_SEC = 1000.0
# Of a spectrogram's power; about what is left of a 16-bit recording's last bit.
_SILENCE = 1e-10
# Halves the range of natural logarithms of power to a few units.
_LOG_SCALE = 0.25


def build(
    cnn: config.SpectrogramCnnConfig, *, audio: inputs.AudioInput, head: heads.Head
) -> keras.Model:
    """Builds the network (as in https://arxiv.org/abs/1609.09430, with residual blocks).

    The logarithm of the power in each mel band, less its mean over the recording, which is what a
    microphone and its distance change, is looked at as a picture.

    Args:
        cnn: The architecture's settings.
        audio: Length and rate of the recordings.
        head: What the model ends with.

    Returns:
        A model from `samples` (float32 in [-1, 1], (B, N)) to what the head gives.

    Raises:
        ValueError: If the recording is too short for the number of stages.

    >>> cnn = config.SpectrogramCnnConfig(architecture="spectrogram_cnn", num_mels=32)
    >>> audio = inputs.AudioInput(num_samples=8000, sample_rate_hz=8000)
    >>> build(cnn, audio=audio, head=heads.Classes(num_classes=3)).output["logits"].shape
    (None, 3)
    """
    num_frames = 1 + audio.num_samples // _hop_samples(cnn, audio)
    smallest = 2 ** len(cnn.stage_channels)
    if min(num_frames, cnn.num_mels) < smallest or audio.num_samples < _fft_samples(cnn, audio):
        raise ValueError(
            f"`stage_channels` has {len(cnn.stage_channels)} stages, each of which halves the "
            f"spectrogram, so there must be at least {smallest} frames and `num_mels`, and one "
            f"whole window. Received: {num_frames} frames, num_mels={cnn.num_mels}. "
            "Use fewer stages, longer recordings or a shorter `hop_ms`."
        )
    samples_BN = keras.Input((audio.num_samples,), name="samples", dtype="float32")
    x_BTM = _log_mel(samples_BN, cnn, audio)
    if cnn.spec_augment is not None:
        x_BTM = spec_augment.SpecAugment(**cnn.spec_augment.to_dict(), name="spec_augment")(x_BTM)
    features_BF = conv_stack.pooled_features(
        keras.ops.expand_dims(x_BTM, -1),
        stage_channels=cnn.stage_channels,
        blocks_per_stage=cnn.blocks_per_stage,
    )
    return heads.finish(
        "spectrogram_cnn", samples_BN, features_BF, head=head, dropout_rate=cnn.dropout_rate
    )


def _log_mel(
    samples_BN: heads.Tensor, cnn: config.SpectrogramCnnConfig, audio: inputs.AudioInput
) -> heads.Tensor:
    power_BMT = keras.layers.MelSpectrogram(
        fft_length=_fft_samples(cnn, audio),
        sequence_length=_window_samples(cnn, audio),
        sequence_stride=_hop_samples(cnn, audio),
        sampling_rate=audio.sample_rate_hz,
        num_mel_bins=cnn.num_mels,
        max_freq=audio.sample_rate_hz / 2,
        # The layer's own decibels are cut off below the loudest of the whole batch, so that an
        # answer would depend on what else is asked.
        power_to_db=False,
        # Sums over hundreds of samples, whose squares half precision does not hold.
        dtype="float32",
        name="mel_spectrogram",
    )(samples_BN)
    log_BMT = _LOG_SCALE * keras.ops.log(keras.ops.maximum(power_BMT, _SILENCE))
    centred_BMT = log_BMT - keras.ops.mean(log_BMT, axis=(1, 2), keepdims=True)
    return keras.ops.transpose(centred_BMT, (0, 2, 1))


def _window_samples(cnn: config.SpectrogramCnnConfig, audio: inputs.AudioInput) -> int:
    return max(2, round(cnn.window_ms * audio.sample_rate_hz / _MS_PER_SEC))


def _hop_samples(cnn: config.SpectrogramCnnConfig, audio: inputs.AudioInput) -> int:
    return max(1, round(cnn.hop_ms * audio.sample_rate_hz / _MS_PER_SEC))


def _fft_samples(cnn: config.SpectrogramCnnConfig, audio: inputs.AudioInput) -> int:
    """Returns the first power of two that holds a window."""
    return int(2 ** (_window_samples(cnn, audio) - 1).bit_length())
