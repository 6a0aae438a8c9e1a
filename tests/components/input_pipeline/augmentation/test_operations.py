"""Every operation against Pillow, which the authors' code calls."""

import numpy as np
import PIL.Image
import PIL.ImageEnhance
import PIL.ImageOps
import pytest
import tensorflow as tf

from components.input_pipeline.augmentation import operations, targets

HEIGHT_PX, WIDTH_PX = 21, 32
GENERATOR = np.random.default_rng(0)
# Soft shapes, dark and bright ones, so that no operation finds nothing to do.
COARSE = GENERATOR.integers(20, 230, (4, 5, 6, 3), np.uint8)
IMAGES_BHWC = np.stack(
    [
        np.asarray(PIL.Image.fromarray(image).resize((WIDTH_PX, HEIGHT_PX), PIL.Image.BICUBIC))
        for image in COARSE
    ]
)
# Such that no place lies on the edge between two pixels.
LEVELS_B = np.array([-1.0, -0.31, 0.37, 1.0], np.float32)


def pillow_affine(coefficients):
    return lambda image, level: image.transform(
        image.size, PIL.Image.AFFINE, coefficients(level), PIL.Image.NEAREST
    )


ORACLES = {
    "auto_contrast": lambda image, _: PIL.ImageOps.autocontrast(image),
    "equalize": lambda image, _: PIL.ImageOps.equalize(image),
    "invert": lambda image, _: PIL.ImageOps.invert(image),
    "posterize": lambda image, level: PIL.ImageOps.posterize(image, 8 - round(4 * abs(level))),
    "solarize": lambda image, level: PIL.ImageOps.solarize(image, 255 * (1 - abs(level))),
    "color": lambda image, level: PIL.ImageEnhance.Color(image).enhance(1 + 0.9 * level),
    "contrast": lambda image, level: PIL.ImageEnhance.Contrast(image).enhance(1 + 0.9 * level),
    "brightness": lambda image, level: PIL.ImageEnhance.Brightness(image).enhance(1 + 0.9 * level),
    "sharpness": lambda image, level: PIL.ImageEnhance.Sharpness(image).enhance(1 + 0.9 * level),
    "shear_x": pillow_affine(lambda level: (1, 0.3 * level, 0, 0, 1, 0)),
    "shear_y": pillow_affine(lambda level: (1, 0, 0, 0.3 * level, 1, 0)),
    "translate_x": pillow_affine(lambda v: (1, 0, int(v * 150 / 331 * WIDTH_PX), 0, 1, 0)),
    "translate_y": pillow_affine(lambda v: (1, 0, 0, 0, 1, int(v * 150 / 331 * HEIGHT_PX))),
    "rotate": lambda image, level: image.rotate(30 * level, PIL.Image.NEAREST),
}
GREY_IMAGES_BHWC = IMAGES_BHWC[..., :1]


def apply(name, images, levels=LEVELS_B):
    if name in operations.COLOUR_OPERATIONS:
        operate = operations.COLOUR_OPERATIONS[name]
        return operate(tf.constant(images), tf.constant(levels)).numpy()
    size_2 = tf.constant([images.shape[2], images.shape[1]], tf.float32)
    maps = operations.GEOMETRIC_OPERATIONS[name](tf.constant(levels), size_2)
    return targets.warp_masks(tf.constant(images), maps).numpy()


def test_every_operation_has_an_oracle():
    assert set(ORACLES) == {*operations.COLOUR_OPERATIONS, *operations.GEOMETRIC_OPERATIONS}


@pytest.mark.parametrize("images", [IMAGES_BHWC, GREY_IMAGES_BHWC], ids=["colour", "grey"])
@pytest.mark.parametrize("name", ORACLES)
def test_operation_equals_pillows(name, images):
    changed = apply(name, images)
    assert (changed.dtype, changed.shape) == (np.uint8, images.shape)
    for number, level in enumerate(LEVELS_B.tolist()):
        one = images[number] if images.shape[3] == 3 else images[number, ..., 0]
        expected = np.asarray(ORACLES[name](PIL.Image.fromarray(one), level)).reshape(one.shape)
        difference = np.abs(changed[number].reshape(one.shape).astype(int) - expected)
        # Values may fall on either side of a whole number, and pixels on either side of an edge.
        assert np.mean(difference > 1) < 0.01, (level, difference.max())


@pytest.mark.parametrize("name", ["auto_contrast", "equalize"])
def test_image_of_one_value_is_kept(name):
    plain = np.full((4, 6, 6, 3), 77, np.uint8)
    np.testing.assert_array_equal(apply(name, plain), plain)


@pytest.mark.parametrize("name", sorted(set(ORACLES) - {"auto_contrast", "equalize", "invert"}))
def test_level_zero_changes_nothing_where_there_are_levels(name):
    changed = apply(name, IMAGES_BHWC, np.zeros(4, np.float32))
    np.testing.assert_array_equal(changed[IMAGES_BHWC < 255], IMAGES_BHWC[IMAGES_BHWC < 255])
