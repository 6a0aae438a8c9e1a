import numpy as np
import pytest
import tensorflow as tf

from components.input_pipeline import augment
from components.input_pipeline.config import AugmentConfig

IMAGES_BHWC = np.random.default_rng(0).integers(1, 256, (500, 5, 7, 3), np.uint8)


def run(step=0, **config):
    seed_2 = tf.constant([1, step], tf.int64)
    return augment.augment_images(
        tf.constant(IMAGES_BHWC), AugmentConfig(**config), seed_2=seed_2
    ).numpy()


def test_nothing_to_do_keeps_the_images():
    np.testing.assert_array_equal(run(), IMAGES_BHWC)


def test_flip_mirrors_about_half_of_the_images_and_keeps_the_others():
    changed = run(horizontal_flip=True)
    is_flipped = np.array(
        [np.array_equal(new, old[:, ::-1]) for new, old in zip(changed, IMAGES_BHWC, strict=True)]
    )
    np.testing.assert_array_equal(changed[~is_flipped], IMAGES_BHWC[~is_flipped])
    assert 200 < is_flipped.sum() < 300


def test_translation_moves_by_every_distance_and_fills_with_zeros():
    padded = np.pad(IMAGES_BHWC, ((0, 0), (2, 2), (2, 2), (0, 0)))
    found = set()
    for number, image in enumerate(run(max_translation_px=2)):
        matches = [
            (row, column)
            for row in range(5)
            for column in range(5)
            if np.array_equal(image, padded[number, row : row + 5, column : column + 7])
        ]
        assert len(matches) == 1
        found.add(matches[0])
    assert len(found) == 25


def test_equal_seeds_give_equal_images_and_other_steps_others():
    options = {"horizontal_flip": True, "max_translation_px": 1}
    np.testing.assert_array_equal(run(4, **options), run(4, **options))
    assert not np.array_equal(run(4, **options), run(5, **options))


@pytest.mark.parametrize("dtype", [tf.uint8, tf.float32])
def test_type_and_shape_are_kept(dtype):
    images = tf.zeros((2, 5, 7, 1), dtype)
    config = AugmentConfig(horizontal_flip=True, max_translation_px=3)
    changed = augment.augment_images(images, config, seed_2=tf.constant([1, 2], tf.int64))
    assert (changed.dtype, changed.shape) == (dtype, (2, 5, 7, 1))
