import numpy as np
import pytest

from components.input_pipeline import preview
from components.input_pipeline.config import InputConfig
from models import inputs

IMAGES_BHWC = np.random.default_rng(0).integers(0, 256, (3, 6, 6, 3), np.uint8)
ROW_PX = preview._TITLE_PX + preview._TILE_PX + preview._GAP_PX


def draw(images=IMAGES_BHWC, **augment):
    spec = inputs.ImageInput(height_px=6, width_px=6, channels=images.shape[-1])
    config = InputConfig.from_dict({"augment": augment})
    return preview.draw_sheet(images, np.arange(3), config, spec, seed=0)


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
    sheet = draw()
    assert sheet.height == ROW_PX
    np.testing.assert_array_equal(tiles(sheet, 0), IMAGES_BHWC)


def test_each_setting_has_a_row_and_all_together_have_one():
    sheet = draw(horizontal_flip=True, brightness=0.3)
    assert sheet.height == 4 * ROW_PX
    np.testing.assert_array_equal(tiles(sheet, 0), IMAGES_BHWC)
    assert not np.array_equal(tiles(sheet, 2), IMAGES_BHWC)


def test_one_setting_needs_no_row_for_all_together():
    assert draw(brightness=0.3).height == 2 * ROW_PX


def test_grey_images_are_drawn():
    sheet = draw(IMAGES_BHWC[..., :1])
    np.testing.assert_array_equal(tiles(sheet, 0)[..., :1], IMAGES_BHWC[..., :1])


def test_mixed_images_are_drawn():
    sheet = draw(mixup_alpha=5.0)
    assert sheet.height == 2 * ROW_PX
    assert not np.array_equal(tiles(sheet, 1), IMAGES_BHWC)


def test_series_are_drawn_as_curves_on_the_scale_they_had():
    history_BNC = np.linspace(0, 1, 96, dtype="float32")[None, :, None].repeat(3, 0)
    config = InputConfig.from_dict({"augment_series": {"scaling": 0.2}})
    spec = inputs.SeriesInput(history_steps=96, num_channels=1)
    sheet = preview.draw_sheet(history_BNC, np.zeros((3, 1), "float32"), config, spec, seed=0)
    assert sheet.height == 2 * ROW_PX
    pixels = np.asarray(sheet)[preview._TITLE_PX : preview._TITLE_PX + 96, 4:100]
    rows, columns = np.nonzero(pixels[..., 0] < 100)
    # A ramp falls from row to row: 1 / 1.4 of the height.
    assert np.polyfit(columns, rows, 1)[0] == pytest.approx(-1 / 1.4, abs=0.03)


def test_a_tone_is_a_bright_line_at_its_frequency_above_the_curve():
    rate_hz, tone_hz = 8000, 1000
    tone_N = 0.5 * np.sin(2 * np.pi * tone_hz * np.arange(rate_hz) / rate_hz)
    recordings_BN = np.stack([tone_N, 0 * tone_N, tone_N]).astype("float32")
    config = InputConfig.from_dict({"augment_audio": {"noise_snr_db": [0.0, 0.0]}})
    spec = inputs.AudioInput(num_samples=rate_hz, sample_rate_hz=rate_hz)
    sheet = preview.draw_sheet(recordings_BN, np.zeros(3, int), config, spec, seed=0)
    height_px = preview._TILE_PX - preview._CURVE_PX
    top, left = preview._TITLE_PX, preview._GAP_PX
    brightness = np.asarray(sheet.convert("L")).astype(int)
    column = brightness[top : top + height_px, left + 48]
    # A quarter of the highest frequency, from below.
    assert np.argmax(column) == pytest.approx(height_px * 0.75, abs=1.5)
    noisy = brightness[ROW_PX + top : ROW_PX + top + height_px, left : left + 96]
    assert np.median(noisy) > 2 * np.median(column)
