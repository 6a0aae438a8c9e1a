import numpy as np
import pytest
import tensorflow as tf

from components.input_pipeline.augmentation import geometry
from components.input_pipeline.augmentation import images as image_augmentation
from components.input_pipeline.config import AugmentConfig

IMAGES_BHWC = np.random.default_rng(0).integers(1, 256, (500, 5, 7, 3), np.uint8)
EVERYTHING = {
    "horizontal_flip": True,
    "vertical_flip": True,
    "max_translation_px": 1,
    "max_rotation_degrees": 20.0,
    "min_crop_area": 0.5,
    "brightness": 0.2,
    "contrast": 0.2,
    "saturation": 0.2,
    "erasing_probability": 0.5,
    "rand_augment": {"num_operations": 3, "magnitude": 15.0},
}


def run(images=IMAGES_BHWC, step=0, **config):
    seed_2 = tf.constant([1, step], tf.int64)
    return image_augmentation.augment_images(
        tf.constant(images), AugmentConfig.from_dict(config), seed_2=seed_2
    ).numpy()


def test_nothing_to_do_keeps_the_images():
    np.testing.assert_array_equal(run(), IMAGES_BHWC)


@pytest.mark.parametrize("name", EVERYTHING)
def test_each_setting_changes_something_by_itself(name):
    assert not np.array_equal(run(**{name: EVERYTHING[name]}), IMAGES_BHWC)


@pytest.mark.parametrize(
    ("name", "mirror"),
    [("horizontal_flip", np.s_[:, ::-1]), ("vertical_flip", np.s_[::-1])],
)
def test_flip_mirrors_about_half_of_the_images_and_keeps_the_others(name, mirror):
    changed = run(**{name: True})
    is_flipped = np.array(
        [np.array_equal(new, old[mirror]) for new, old in zip(changed, IMAGES_BHWC, strict=True)]
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


def disc(size_px: int, radius_px: float) -> np.ndarray:
    """A grey disc in the middle of a black image (1, size, size, 1)."""
    distance = np.abs(np.arange(size_px) - (size_px - 1) / 2)
    inside = distance[:, None] ** 2 + distance[None] ** 2 <= radius_px**2
    return (inside * 200).astype(np.uint8)[None, :, :, None]


def test_rotation_leaves_a_disc_where_it_is():
    discs = np.repeat(disc(41, 12), 50, axis=0)
    turned = run(discs, max_rotation_degrees=180.0)
    # Only the rim, which is cut along pixels, is resampled.
    assert np.abs(turned.astype(int) - discs).mean() < 3


def test_rotation_turns_a_line_by_angles_within_the_limit():
    line = np.zeros((400, 101, 101, 1), np.uint8)
    line[:, 50, 60:] = 255
    rows, columns = np.mgrid[:101, :101] - 50
    mass = run(line, max_rotation_degrees=30.0)[..., 0].astype(float)
    angles = np.degrees(np.arctan2((mass * rows).sum((1, 2)), (mass * columns).sum((1, 2))))
    assert 27 < angles.max() <= 30.5 and -30.5 <= angles.min() < -27
    assert abs(angles.mean()) < 4 * 30 / np.sqrt(3 * 400)


def test_crop_shows_at_least_the_smallest_area_and_nothing_from_outside():
    size_px = 64
    ramp = np.broadcast_to(np.arange(size_px) * 3 + 20, (300, size_px, size_px))
    images = np.stack([ramp, np.swapaxes(ramp, 1, 2), ramp], -1).astype(np.uint8)
    cropped = run(images, min_crop_area=0.25).astype(float)
    width = (cropped[:, 32, -1, 0] - cropped[:, 32, 0, 0]) / 3 / (size_px - 1)
    height = (cropped[:, -1, 32, 1] - cropped[:, 0, 32, 1]) / 3 / (size_px - 1)
    assert (width * height).min() > 0.23 and (width * height).max() <= 1.02
    assert (width / height).min() > 0.73 and (width / height).max() < 1.37
    # Anything from outside of the image would be black.
    assert cropped.min() >= 20


def test_crop_of_the_whole_image_keeps_it():
    np.testing.assert_array_equal(run(min_crop_area=0.999999), IMAGES_BHWC)


def test_brightness_adds_the_same_to_every_pixel_up_to_its_limit():
    images = np.full((500, 4, 4, 3), 128, np.uint8)
    images[:, 0, 0] = 100
    changed = run(images, brightness=0.2).astype(int)
    added = changed[:, 0, 0, 0] - 100
    np.testing.assert_array_equal(
        changed - images, added[:, None, None, None] + np.zeros_like(images)
    )
    assert 48 <= added.max() <= 51 and -51 <= added.min() <= -48


def test_contrast_scales_the_distance_from_the_mean():
    images = np.tile(np.array([88, 168], np.uint8)[None, :, None, None], (500, 2, 4, 1))
    changed = run(images, contrast=0.5).astype(int)
    np.testing.assert_allclose(changed.mean((1, 2, 3)), 128, atol=0.5)
    distance = (changed[:, 1] - changed[:, 0])[:, 0, 0]
    assert 115 <= distance.max() <= 121 and 39 <= distance.min() <= 45


def test_saturation_keeps_the_grey_of_colours_and_all_of_grey_images():
    colours = np.tile(np.array([120, 100, 90], np.uint8), (300, 4, 4, 1))
    changed = run(colours, saturation=0.9)
    grey = tf.image.rgb_to_grayscale
    assert np.abs(grey(changed).numpy().astype(int) - grey(colours).numpy()).max() <= 1
    assert not np.array_equal(changed, colours)
    np.testing.assert_array_equal(run(colours[..., :1], saturation=0.9), colours[..., :1])


def test_values_are_cut_off_and_never_wrap_around():
    images = np.array([[0, 255]] * 500, np.uint8)[:, :, None, None]
    changed = run(images, brightness=0.5)
    assert (changed[:, 1] >= changed[:, 0]).all()


def test_erasing_replaces_one_rectangle_of_some_images_by_noise():
    images = np.full((500, 40, 40, 1), 128, np.uint8)
    is_noise = run(images, erasing_probability=0.5)[..., 0] != 128
    is_erased = is_noise.any((1, 2))
    assert 200 < is_erased.sum() < 300
    rows, columns = is_noise.any(2)[is_erased], is_noise.any(1)[is_erased]
    box_area = rows.sum(1) * columns.sum(1)
    # One in 256 of the noisy pixels has the old value by chance.
    assert (is_noise[is_erased].sum((1, 2)) > 0.9 * box_area).all()
    assert box_area.max() <= 0.45 * 1600 and box_area.min() >= 0.01 * 1600


def test_equal_seeds_give_equal_images_and_other_steps_others():
    np.testing.assert_array_equal(run(step=4, **EVERYTHING), run(step=4, **EVERYTHING))
    assert not np.array_equal(run(step=4, **EVERYTHING), run(step=5, **EVERYTHING))


def test_turning_one_on_leaves_the_draws_of_the_others():
    moved = run(horizontal_flip=True, max_translation_px=1)
    brightened = run(horizontal_flip=True, max_translation_px=1, brightness=0.3).astype(int)
    kept = (brightened > 0) & (brightened < 255) & (moved > 0)
    added = np.where(kept, brightened - moved, np.nan)
    assert np.nanmax(np.nanmax(added, (1, 2, 3)) - np.nanmin(added, (1, 2, 3))) == 0


@pytest.mark.parametrize("channels", [1, 3])
def test_type_and_shape_are_kept(channels):
    changed = run(np.zeros((2, 5, 7, channels), np.uint8), **EVERYTHING)
    assert (changed.dtype, changed.shape) == (np.uint8, (2, 5, 7, channels))


@pytest.mark.parametrize(
    "config",
    [
        {"max_rotation_degrees": 181.0},
        {"min_crop_area": 0.0},
        {"brightness": 1.0},
        {"erasing_probability": 1.1},
        {"horizontal_flipp": True},
    ],
)
def test_settings_that_make_no_sense_are_refused(config):
    with pytest.raises(ValueError, match=next(iter(config))):
        AugmentConfig.from_dict(config)


@pytest.mark.parametrize("flips", [{}, {"horizontal_flip": True, "vertical_flip": True}])
def test_few_images_are_cropped_as_many_are(flips):
    """One by one and all at once are two kernels; the maps are the same."""
    images = IMAGES_BHWC[:8]
    config = AugmentConfig(min_crop_area=0.2, **flips)
    transforms_B8 = geometry.draw_transforms(
        tf.constant(images.shape), config, seed_2=tf.constant([3, 1], tf.int64)
    )
    singly = geometry.apply(tf.constant(images), transforms_B8, config)
    twice = tf.concat([images, images], 0)
    at_once = geometry.apply(twice, tf.concat([transforms_B8] * 2, 0), config)
    np.testing.assert_allclose(singly, at_once[:8], atol=0.01)
    whole = tf.raw_ops.ImageProjectiveTransformV3(
        images=tf.cast(images, tf.float32),
        transforms=transforms_B8,
        output_shape=images.shape[1:3],
        fill_value=0.0,
        interpolation="BILINEAR",
        fill_mode="NEAREST",
    )
    np.testing.assert_allclose(singly, whole, atol=0.01)
