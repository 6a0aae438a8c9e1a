"""A planted object is where its mask and its box say, whatever moved it."""

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies

from components.input_pipeline.augmentation import images, targets
from components.input_pipeline.config import AugmentConfig

NUM_ROWS, HEIGHT_PX, WIDTH_PX = 60, 48, 64
SETTINGS = {
    "flips": {"horizontal_flip": True, "vertical_flip": True},
    "translation": {"max_translation_px": 12},
    "rotation": {"max_rotation_degrees": 40.0},
    "crop": {"min_crop_area": 0.3, "horizontal_flip": True},
    "crop and translation": {"min_crop_area": 0.5, "max_translation_px": 9},
    "rand_augment": {"rand_augment": {"num_operations": 2, "magnitude": 25.0}},
    "auto_augment": {"auto_augment": "cifar10", "max_translation_px": 3},
}


def plant():
    """A bright rectangle in each image, its mask and its box, and an empty box to fill up."""
    generator = np.random.default_rng(0)
    pixels = np.zeros((NUM_ROWS, HEIGHT_PX, WIDTH_PX, 3), np.uint8)
    masks = np.zeros((NUM_ROWS, HEIGHT_PX, WIDTH_PX, 1), np.uint8)
    boxes = np.zeros((NUM_ROWS, 2, 4), np.float32)
    for number in range(NUM_ROWS):
        x, y = generator.integers(0, 40), generator.integers(0, 30)
        width, height = generator.integers(8, 24), generator.integers(8, 18)
        pixels[number, y : y + height, x : x + width] = 255
        masks[number, y : y + height, x : x + width] = 3
        boxes[number, 0] = x, y, x + width, y + height
    boxes[..., 2:] = np.minimum(boxes[..., 2:], (WIDTH_PX, HEIGHT_PX))
    return pixels, masks, boxes


def move(settings, seed=2):
    planted = images.Annotated(*(tf.constant(array) for array in plant()))
    config = AugmentConfig.from_dict(settings)
    seed_2 = tf.constant([4, seed], tf.int64)
    moved = images.augment_annotated(planted, config, seed_2=seed_2)
    plain = images.augment_images(planted.images_BHWC, config, seed_2=seed_2)
    np.testing.assert_array_equal(moved.images_BHWC, plain)
    return [np.asarray(part) for part in moved]


@pytest.mark.parametrize("name", ["flips", "translation", "rotation", "crop"])
def test_mask_lies_on_the_moved_object(name):
    pixels, masks, _ = move(SETTINGS[name])
    assert set(np.unique(masks)) == {0, 3}
    is_object = pixels.mean(-1) > 127
    # Along the rim, interpolation and the nearest pixel may disagree.
    assert np.mean(is_object != (masks[..., 0] == 3)) < 0.01
    assert not np.array_equal(masks, plant()[1])


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_box_holds_the_moved_mask_and_touches_it_unless_it_turned(settings):
    _, masks, boxes = move(settings)
    is_turning = "rand_augment" in settings or "max_rotation_degrees" in settings
    is_turning = is_turning or "auto_augment" in settings
    for mask, box in zip(masks[..., 0], boxes[:, 0], strict=True):
        rows, columns = np.nonzero(mask)
        if not len(rows):
            continue
        found = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        assert (box[:2] <= found[:2] + 1.5).all() and (box[2:] >= found[2:] - 1.5).all()
        if not is_turning:
            np.testing.assert_allclose(box, found, atol=2.5)


MOVES = strategies.fixed_dictionaries(
    {
        "horizontal_flip": strategies.booleans(),
        "vertical_flip": strategies.booleans(),
        "max_translation_px": strategies.integers(0, 20),
        "max_rotation_degrees": strategies.floats(0, 180),
        "min_crop_area": strategies.floats(0.2, 1),
    }
)


@hypothesis.settings(max_examples=25, deadline=None, derandomize=True)
@hypothesis.given(settings=MOVES, seed=strategies.integers(0, 2**40))
def test_image_mask_and_boxes_move_together_whatever_is_on(settings, seed):
    pixels, masks, boxes = move(settings, seed)
    is_object = pixels.mean(-1) > 127
    assert np.mean(is_object != (masks[..., 0] == 3)) < 0.02
    for mask, box in zip(masks[..., 0], boxes[:, 0], strict=True):
        rows, columns = np.nonzero(mask)
        if len(rows):
            assert (box[:2] <= np.array([columns.min(), rows.min()]) + 1.5).all()
            assert (box[2:] >= np.array([columns.max(), rows.max()]) - 0.5).all()


def test_whole_pixel_moves_keep_boxes_exact():
    _, masks, boxes = move({**SETTINGS["flips"], **SETTINGS["translation"]})
    for mask, box in zip(masks[..., 0], boxes[:, 0], strict=True):
        rows, columns = np.nonzero(mask)
        found = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        np.testing.assert_allclose(box, found, atol=1e-3)


def test_boxes_are_cut_off_at_the_edge_and_dropped_outside():
    shift_right = tf.constant([[1.0, 0, -20, 0, 1, 0, 0, 0]])
    boxes = tf.constant([[[5.0, 5, 9, 9], [40, 5, 50, 9], [45, 0, 48, 4], [0, 0, 0, 0]]])
    moved, is_left = targets.warp_boxes(boxes, shift_right, height_px=20, width_px=64)
    assert moved.numpy().tolist() == [[[25, 5, 29, 9], [60, 5, 64, 9], [0] * 4, [0] * 4]]
    assert is_left.numpy().tolist() == [[True, True, False, False]]


def test_filling_boxes_stay_empty():
    _, _, boxes = move(SETTINGS["crop"])
    assert not boxes[:, 1].any()
