import numpy as np

from components.input_pipeline import preview
from components.input_pipeline.config import AugmentConfig

IMAGES_BHWC = np.random.default_rng(0).integers(0, 256, (3, 6, 6, 3), np.uint8)
ROW_PX = preview._TITLE_PX + preview._TILE_PX + preview._GAP_PX


def tiles(sheet, row):
    """The middle pixels of the tiles of a row, one for each 16 x 16 pixel block of an image."""
    pixels = np.asarray(sheet)
    top = row * ROW_PX + preview._TITLE_PX
    step = preview._TILE_PX + preview._GAP_PX
    return np.stack(
        [
            pixels[top + 8 : top + preview._TILE_PX : 16, left + 8 : left + preview._TILE_PX : 16]
            for left in range(preview._GAP_PX, preview._GAP_PX + 3 * step, step)
        ]
    )


def test_first_row_shows_the_images_as_they_are():
    sheet = preview.draw_sheet(IMAGES_BHWC, AugmentConfig(), seed=0)
    assert sheet.height == ROW_PX
    np.testing.assert_array_equal(tiles(sheet, 0), IMAGES_BHWC)


def test_each_setting_has_a_row_and_all_together_have_one():
    config = AugmentConfig(horizontal_flip=True, brightness=0.3)
    sheet = preview.draw_sheet(IMAGES_BHWC, config, seed=0)
    assert sheet.height == 4 * ROW_PX
    np.testing.assert_array_equal(tiles(sheet, 0), IMAGES_BHWC)
    assert not np.array_equal(tiles(sheet, 2), IMAGES_BHWC)


def test_one_setting_needs_no_row_for_all_together():
    config = AugmentConfig(brightness=0.3)
    assert preview.draw_sheet(IMAGES_BHWC, config, seed=0).height == 2 * ROW_PX


def test_grey_images_are_drawn():
    sheet = preview.draw_sheet(IMAGES_BHWC[..., :1], AugmentConfig(), seed=0)
    np.testing.assert_array_equal(tiles(sheet, 0)[..., :1], IMAGES_BHWC[..., :1])
