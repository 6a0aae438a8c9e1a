import numpy as np
import pytest

from components.data_guard import duplicates, guard, near, turned_images
from components.data_guard.config import DataGuardConfig
from tests.components.data_guard import guard_data

TURNS = {
    "mirrored": lambda image: image[:, ::-1],
    "upside down": lambda image: image[::-1],
    "by a quarter": np.rot90,
    "by half": lambda image: np.rot90(image, 2),
    "by a quarter and mirrored": lambda image: np.rot90(image)[:, ::-1],
}


def turned_pairs(dataset):
    copies = duplicates.find_copies(dataset)
    near_pairs = near.find_near_pairs(dataset, copies)
    return turned_images.find_turned_pairs(dataset, copies, near_pairs)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("how", TURNS)
def test_at_least_95_percent_of_turned_images_are_found(how, channels, tmp_path):
    arrays = guard_data.clean_arrays(channels=channels)
    for row in range(100):
        # A little darker, so that it is no turned copy bit for bit.
        arrays["test"][0][row] = TURNS[how](arrays["train"][0][row * 5]) * 0.95
    dataset = guard_data.open_arrays(arrays, tmp_path)
    found = {dataset.keys(*pair) for pair in turned_pairs(dataset)}
    planted = {(f"train/{row * 5:08d}", f"test/{row:08d}") for row in range(100)}
    assert len(found & planted) >= 95 and not found - planted


def test_near_copies_that_are_symmetric_are_not_counted_again(tmp_path):
    arrays = guard_data.clean_arrays()
    symmetric = arrays["train"][0][:20] // 2 + arrays["train"][0][:20, :, ::-1] // 2
    arrays["train"][0][:20] = symmetric
    arrays["test"][0][:20] = symmetric // 2 * 2
    assert len(turned_pairs(guard_data.open_arrays(arrays, tmp_path))) == 0


def mirrored_leaks(folder, **config):
    arrays = guard_data.clean_arrays()
    arrays["test"][0][:30] = arrays["train"][0][:30, :, ::-1]
    found = guard.find_all(guard_data.ingest_arrays(arrays, folder), DataGuardConfig(**config))
    return [finding for finding in found if finding.name == "turned_leaks"]


def test_turned_images_are_looked_for_if_the_recipe_sets_a_limit(tmp_path):
    assert mirrored_leaks(tmp_path) == []
    (finding,) = mirrored_leaks(tmp_path, max_turned_leak_share=0.5)
    assert finding.severity == "warning" and finding.amount == 30 / 300
    assert finding.sentence.startswith("30 images of validation and test are nearly equal to one")
    assert finding.examples[0] == ("test/00000000", "train/00000000")
    (finding,) = mirrored_leaks(tmp_path, max_turned_leak_share=0.01)
    assert finding.stops
