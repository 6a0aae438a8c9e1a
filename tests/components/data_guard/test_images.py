import io

import numpy as np
import PIL.Image
import pytest

from components.data_guard import duplicates, images, near
from components.data_guard.config import DataGuardConfig
from tests.components.data_guard import guard_data

CONFIG = DataGuardConfig()


@pytest.fixture
def arrays():
    return guard_data.clean_arrays()


def find(check, arrays, folder, **config):
    return check(guard_data.open_arrays(arrays, folder), DataGuardConfig(**config))


def find_copies(check, arrays, folder, *more, **config):
    dataset = guard_data.open_arrays(arrays, folder)
    return check(dataset, DataGuardConfig(**config), duplicates.find_copies(dataset), *more)


def near_pairs(dataset):
    return near.find_near_pairs(dataset, duplicates.find_copies(dataset))


def test_every_planted_leak_is_found_and_stops(arrays, tmp_path):
    arrays["test"][0][::10] = arrays["train"][0][: len(arrays["test"][0][::10])]
    (finding,) = find_copies(duplicates.find_exact_leaks, arrays, tmp_path)
    assert finding.amount == 15 / 300 and finding.stops
    planted = {(f"test/{row * 10:08d}", f"train/{row:08d}") for row in range(15)}
    assert len(set(finding.examples) & planted) == 3


def test_leak_below_the_limit_is_reported_and_does_not_stop(arrays, tmp_path):
    arrays["validation"][0][7] = arrays["train"][0][5]
    (finding,) = find_copies(
        duplicates.find_exact_leaks, arrays, tmp_path, max_exact_leak_share=0.01
    )
    assert not finding.stops and finding.sentence.startswith("1 image of validation and test is in")


def test_copies_within_training_are_counted_without_the_first(arrays, tmp_path):
    arrays["train"][0][100:103] = arrays["train"][0][3]
    (finding,) = find_copies(duplicates.find_exact_duplicates, arrays, tmp_path)
    assert finding.sentence == "3 images of training are equal to an earlier one."
    assert set(finding.examples[0]) <= {f"train/{row:08d}" for row in (3, 100, 101, 102)}


def test_copies_with_other_labels_are_conflicts(arrays, tmp_path):
    arrays["train"][0][100] = arrays["train"][0][3]
    arrays["train"][1][[3, 100]] = (0, 1)
    none = np.empty((0, 2), np.int64)
    (finding,) = find_copies(duplicates.find_conflicts, arrays, tmp_path, none)
    assert finding.amount == 2 / 900
    assert set(finding.examples[0]) == {"train/00000003 (ant)", "train/00000100 (bee)"}


def test_copies_with_the_same_label_are_no_conflict(arrays, tmp_path):
    arrays["train"][0][102] = arrays["train"][0][3]
    arrays["train"][1][[3, 102]] = (1, 1)
    none = np.empty((0, 2), np.int64)
    assert find_copies(duplicates.find_conflicts, arrays, tmp_path, none) == []


def jpeg(image: np.ndarray) -> np.ndarray:
    buffer = io.BytesIO()
    PIL.Image.fromarray(image.squeeze()).save(buffer, "JPEG", quality=70)
    return np.asarray(PIL.Image.open(buffer)).reshape(image.shape)


def resize(image: np.ndarray) -> np.ndarray:
    small = PIL.Image.fromarray(image.squeeze()).resize((24, 24), PIL.Image.Resampling.BICUBIC)
    return np.asarray(small.resize((32, 32), PIL.Image.Resampling.BICUBIC)).reshape(image.shape)


NEAR_COPIES = {
    "encoded again": jpeg,
    "resized": resize,
    "brightened": lambda image: np.clip(image.astype(int) + 10, 0, 255).astype(np.uint8),
    "dimmed": lambda image: (image * 0.9).astype(np.uint8),
    "noisy": lambda image: np.clip(
        image + np.random.default_rng(0).normal(0, 3, image.shape), 0, 255
    ).astype(np.uint8),
}


@pytest.mark.parametrize("how", NEAR_COPIES)
@pytest.mark.parametrize("channels", [1, 3])
def test_at_least_95_percent_of_near_copies_are_found(how, channels, tmp_path):
    arrays = guard_data.clean_arrays(channels=channels)
    for row in range(100):
        arrays["test"][0][row] = NEAR_COPIES[how](arrays["train"][0][row * 5])
    dataset = guard_data.open_arrays(arrays, tmp_path)
    found = {dataset.keys(*pair) for pair in near_pairs(dataset)}
    planted = {(f"train/{row * 5:08d}", f"test/{row:08d}") for row in range(100)}
    assert len(found & planted) >= 95 and not found - planted


def test_near_copies_across_splits_stop_the_run(arrays, tmp_path):
    arrays["test"][0][:6] = arrays["train"][0][:6] // 2 * 2
    dataset = guard_data.open_arrays(arrays, tmp_path)
    (finding,) = near.find_near_leaks(dataset, CONFIG, near_pairs(dataset))
    assert finding.stops and finding.amount == 6 / 300
    assert finding.examples[0] == ("test/00000000", "train/00000000")


def test_near_copies_within_training_only_inform(arrays, tmp_path):
    arrays["train"][0][300:310] = arrays["train"][0][:10] // 2 * 2
    dataset = guard_data.open_arrays(arrays, tmp_path)
    (finding,) = near.find_near_duplicates(dataset, CONFIG, near_pairs(dataset))
    assert finding.sentence.startswith("20 images of training are") and not finding.stops


def test_the_same_shape_in_another_colour_is_no_near_copy(tmp_path):
    arrays = guard_data.clean_arrays(channels=3)
    arrays["test"][0][:20] = arrays["train"][0][:20]
    arrays["train"][0][:20, :, :, 1:] //= 2
    arrays["test"][0][:20, :, :, ::2] //= 2
    assert len(near_pairs(guard_data.open_arrays(arrays, tmp_path))) == 0


def test_the_same_shape_in_black_and_white_is_no_near_copy(arrays, tmp_path):
    arrays["test"][0][:20] = arrays["train"][0][:20] // 3
    assert len(near_pairs(guard_data.open_arrays(arrays, tmp_path))) == 0


def test_darker_split_is_found(arrays, tmp_path):
    arrays["validation"][0][:] = arrays["validation"][0] // 2
    findings = find(images.find_pixel_shift, arrays, tmp_path)
    assert [finding.sentence.split(" differs")[0] for finding in findings] == [
        "The brightness of validation",
        "The contrast of validation",
    ]
    assert all(finding.stops for finding in findings)


def test_mark_in_a_corner_that_tells_the_label_stops_the_run(arrays, tmp_path):
    for pixels, labels in arrays.values():
        pixels[:, 30:, 28:30, 0] = (labels * 100)[:, None, None]
    (finding,) = find(images.find_shortcut, arrays, tmp_path)
    assert finding.stops and finding.amount == 1.0
    assert "row 16 and column 15 of a 16 x 16 grid alone tells 100.0%" in finding.sentence


def test_a_row_can_be_looked_up_in_any_shard(arrays, tmp_path):
    dataset = guard_data.open_arrays(arrays, tmp_path)
    keys = [dataset.key(row) for row in range(dataset.num_rows)]
    assert len(set(keys)) == 900 and keys[750].startswith("test/")
    row = keys.index("validation/00000123")
    (image,) = dataset.record(row)["image"]
    pixels = np.asarray(PIL.Image.open(io.BytesIO(image)))
    np.testing.assert_array_equal(pixels, arrays["validation"][0][123, :, :, 0])
