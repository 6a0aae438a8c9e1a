import numpy as np
import pytest

from models import config
from models.blocks import heads
from models.vision import cnn


def _build(image_shape=(28, 28, 1), **settings):
    return cnn.build(
        config.CnnConfig(architecture="cnn", **settings),
        image_shape=image_shape,
        head=heads.Classes(num_classes=10),
    )


def test_each_stage_halves_the_size():
    model = _build(stage_channels=(4, 8, 16))
    sizes = [model.get_layer(f"stage{stage}_block1_out").output.shape[1:] for stage in (1, 2, 3)]
    assert sizes == [(14, 14, 4), (7, 7, 8), (4, 4, 16)]


def test_parameter_count_by_hand():
    # Stem 3*3*1*4 + 8; two 3*3*4*4 convolutions with norms of 8; logits 4*10 + 10. Moving
    # statistics (8 a norm) do not train.
    model = _build(stage_channels=(4,))
    assert sum(int(np.prod(w.shape)) for w in model.trainable_weights) == 44 + 2 * (144 + 8) + 50


def test_black_and_white_pixels_reach_the_network_as_zero_and_one():
    model = _build(stage_channels=(4,))
    rescale = model.get_layer("rescale")
    np.testing.assert_allclose(rescale(np.array([0.0, 255.0])), [0.0, 1.0])


def test_dropout_rate_zero_adds_no_layer():
    assert "head_dropout" not in [layer.name for layer in _build(dropout_rate=0.0).layers]


def test_initial_activations_keep_their_scale_through_the_stages():
    model = _build(stage_channels=(16, 32, 64), blocks_per_stage=2)
    images_BHWC = np.random.default_rng(0).integers(0, 256, (32, 28, 28, 1)).astype("float32")
    logits_BK = model(images_BHWC, training=True)["logits"]
    assert 0.1 < float(np.std(logits_BK)) < 3.0


def test_too_small_image_is_refused_with_the_smallest_size():
    with pytest.raises(
        ValueError, match=r"has 3 stages.*at least 8 px. Received: image_shape=\(4, 4, 1\)"
    ):
        _build(image_shape=(4, 4, 1))
