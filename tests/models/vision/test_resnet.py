import keras
import numpy as np
import pytest

from models import config
from models.blocks import heads
from models.vision import resnet

# Trainable parameters for ImageNet as published with torchvision's weights.
PUBLISHED = {18: 11_689_512, 34: 21_797_672, 50: 25_557_032, 101: 44_549_160, 152: 60_192_808}


def _build(depth, stem="imagenet", image_shape=(224, 224, 3), num_classes=1000):
    return resnet.build(
        config.ResNetConfig(architecture="resnet", depth=depth, stem=stem),
        image_shape=image_shape,
        head=heads.Classes(num_classes=num_classes),
    )


@pytest.mark.parametrize("depth", PUBLISHED)
def test_parameter_count_is_the_published_one(depth):
    model = _build(depth)
    assert sum(int(np.prod(weight.shape)) for weight in model.trainable_weights) == PUBLISHED[depth]


def test_resnet50_has_keras_applications_weights_but_for_its_convolution_biases():
    reference = keras.applications.ResNet50(weights=None)
    num_biases = sum(
        layer.filters for layer in reference.layers if isinstance(layer, keras.layers.Conv2D)
    )
    assert _build(50).count_params() == reference.count_params() - num_biases


@pytest.mark.parametrize(
    ("stem", "size_px", "expected"), [("imagenet", 224, 7), ("small_image", 32, 4)]
)
def test_last_stage_has_the_papers_size(stem, size_px, expected):
    model = _build(18, stem, (size_px, size_px, 3), 10)
    assert model.get_layer("stage4_block2_out").output.shape == (None, expected, expected, 512)


def test_residual_blocks_start_as_the_identity():
    model = _build(18, "small_image", (16, 16, 3), 4)
    block = keras.Model(
        model.get_layer("stage1_block1_out").output, model.get_layer("stage1_block2_out").output
    )
    features_BHWC = np.random.default_rng(0).uniform(size=(2, 16, 16, 64)).astype("float32")
    np.testing.assert_allclose(block.predict(features_BHWC, verbose=0), features_BHWC, atol=1e-6)
