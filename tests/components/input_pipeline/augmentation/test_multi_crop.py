import numpy as np
import pytest
import tensorflow as tf

from components.input_pipeline.augmentation import multi_crop

HEIGHT_PX, WIDTH_PX = 60, 80
# The value of a pixel is its place: rows in one channel, columns in the next.
ROWS, COLUMNS = np.mgrid[:HEIGHT_PX, :WIDTH_PX]
IMAGES_BHWC = np.stack([ROWS, COLUMNS, 0 * ROWS], -1).astype(np.uint8)[None].repeat(300, 0)


@pytest.fixture(scope="module")
def views():
    return multi_crop.multi_crop(
        tf.constant(IMAGES_BHWC),
        large_size_px=24,
        small_size_px=12,
        seed_2=tf.constant([1, 2], tf.int64),
        num_small=3,
    )


def sides_px(views_BVHWC):
    """Height and signed width of what each view shows, from its corner pixels."""
    corners = views_BVHWC.numpy().astype(float)
    height = corners[:, :, -1, 0, 0] - corners[:, :, 0, 0, 0] + 1
    width = corners[:, :, 0, -1, 1] - corners[:, :, 0, 0, 1]
    return height.ravel(), (width + np.sign(width)).ravel()


def test_there_are_two_sizes_of_views(views):
    assert views.large_BVHWC.shape == (300, 2, 24, 24, 3)
    assert views.small_BVHWC.shape == (300, 3, 12, 12, 3)


@pytest.mark.parametrize(("name", "low", "high"), [("large", 0.14, 1.0), ("small", 0.05, 0.14)])
def test_views_show_the_papers_share_of_the_area_in_its_shapes(views, name, low, high):
    height, width = sides_px(getattr(views, f"{name}_BVHWC"))
    area = height * np.abs(width) / (HEIGHT_PX * WIDTH_PX)
    assert low - 0.02 < area.min() < low + 0.03 and high - 0.1 < area.max() < high + 0.03
    ratio = np.abs(width) / height
    assert ratio.min() > 0.70 and ratio.max() < 1.42


def test_half_of_the_views_are_mirrored(views):
    _, width = sides_px(views.small_BVHWC)
    assert 0.43 < (width < 0).mean() < 0.57


def test_views_of_one_image_differ_and_other_steps_give_others(views):
    assert not np.array_equal(views.large_BVHWC[:, 0], views.large_BVHWC[:, 1])
    other = multi_crop.multi_crop(
        tf.constant(IMAGES_BHWC[:2]),
        large_size_px=24,
        small_size_px=12,
        seed_2=tf.constant([1, 3], tf.int64),
    )
    assert not np.array_equal(other.large_BVHWC, views.large_BVHWC[:2])
