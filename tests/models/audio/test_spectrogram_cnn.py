import keras
import numpy as np
import pytest
import scipy.signal

from models import config, inputs
from models.audio import spectrogram_cnn
from models.blocks import heads

_RATE_HZ = 8000
_AUDIO = inputs.AudioInput(num_samples=4000, sample_rate_hz=_RATE_HZ)
_HEAD = heads.Classes(num_classes=3)


def _build(**settings):
    keras.utils.set_random_seed(0)
    values = {"num_mels": 16, "stage_channels": (4, 8), **settings}
    cnn = config.SpectrogramCnnConfig(architecture="spectrogram_cnn", **values)
    return spectrogram_cnn.build(cnn, audio=_AUDIO, head=_HEAD)


def _sines(*frequencies_hz):
    seconds_N = np.arange(_AUDIO.num_samples) / _RATE_HZ
    return np.stack([np.sin(2 * np.pi * f * seconds_N) for f in frequencies_hz]).astype(np.float32)


def _power(model, samples_BN):
    layer = model.get_layer("mel_spectrogram")
    return keras.ops.convert_to_numpy(layer(samples_BN))


def test_a_higher_tone_lies_in_a_higher_band():
    loudest_B = _power(_build(), _sines(200, 800, 3000)).mean(-1).argmax(1)
    assert list(loudest_B) == sorted(set(loudest_B))


def test_frames_are_where_scipy_has_them():
    model = _build()
    frames_FT = scipy.signal.stft(
        _sines(500)[0], nperseg=200, noverlap=120, nfft=256, boundary="even"
    )[2]
    assert abs(_power(model, _sines(500)).shape[-1] - frames_FT.shape[-1]) <= 2


def test_an_answer_does_not_depend_on_what_else_is_asked():
    model = _build()
    quiet_BN = 1e-3 * _sines(300)
    alone = model(quiet_BN)["logits"]
    beside_noise = model(np.concatenate([quiet_BN, 0.9 * _sines(2000)]))["logits"]
    np.testing.assert_allclose(alone[0], beside_noise[0], atol=1e-5)


def test_the_volume_changes_nothing():
    model = _build()
    # In every band, since below its floor a band is silent at any volume.
    loud_BN = np.random.default_rng(0).uniform(-1, 1, (2, _AUDIO.num_samples)).astype(np.float32)
    np.testing.assert_allclose(model(loud_BN)["logits"], model(0.1 * loud_BN)["logits"], atol=1e-4)


def test_silence_gives_finite_scores():
    assert np.isfinite(_build()(np.zeros((2, _AUDIO.num_samples), "float32"))["logits"]).all()


def test_a_recording_too_short_for_the_stages_is_refused():
    with pytest.raises(ValueError, match="at least 4 frames.*Received: 3 frames, num_mels=16"):
        spectrogram_cnn.build(
            config.SpectrogramCnnConfig(
                architecture="spectrogram_cnn", num_mels=16, stage_channels=(4, 8), hop_ms=200.0
            ),
            audio=_AUDIO,
            head=_HEAD,
        )


def test_masks_are_drawn_in_training_only():
    model = _build(spec_augment=config.SpecAugmentConfig())
    samples_BN = _sines(300)
    np.testing.assert_array_equal(model(samples_BN)["logits"], model(samples_BN)["logits"])
    layer = model.get_layer("spec_augment")
    x_BTM = np.ones((8, 40, 16), "float32")
    assert not np.array_equal(layer(x_BTM, training=True), x_BTM)
