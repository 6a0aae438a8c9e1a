import numpy as np
import pytest

from components.data_guard import duplicates, guard, near
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from tests.components.data_guard import guard_data

CONFIG = DataGuardConfig()
GENERATOR = np.random.default_rng(11)


def clean(num_channels=1):
    return {
        split: guard_data.walks(size, seed=seed, num_channels=num_channels)
        for seed, (split, size) in enumerate(guard_data.SIZES.items())
    }


def open_windows(histories, folder):
    return Dataset.open(guard_data.ingest_windows(histories, folder))


def near_pairs(dataset):
    return near.find_near_pairs(dataset, duplicates.find_copies(dataset))


def with_gap(past):
    gappy = past.copy()
    gappy[20:36] = np.nan
    return gappy


NEAR_COPIES = {
    "rounded": lambda past: np.round(past, 1),
    "scaled by a hundredth": lambda past: past * 1.01,
    "raised": lambda past: past + 0.02 * past.std(0),
    "noisy": lambda past: past + GENERATOR.normal(0, 0.02 * past.std(0), past.shape),
}


@pytest.mark.parametrize("num_channels", [1, 3])
@pytest.mark.parametrize("how", NEAR_COPIES)
def test_at_least_95_percent_of_near_windows_are_found(how, num_channels, tmp_path):
    histories = clean(num_channels)
    for row in range(100):
        copy = NEAR_COPIES[how](histories["train"][row * 5])
        histories["test"][row] = copy.astype(np.float32)
    dataset = open_windows(histories, tmp_path)
    found = {dataset.keys(*pair) for pair in near_pairs(dataset)}
    planted = {(f"train/{row * 5}", f"test/{row}") for row in range(100)}
    assert len(found & planted) >= 95 and not found - planted


def test_near_windows_in_two_splits_stop_the_run(tmp_path):
    histories = clean()
    histories["test"][:30] = [np.round(past, 1) for past in histories["train"][:30]]
    found = guard.find_all(guard_data.ingest_windows(histories, tmp_path), CONFIG)
    (leak,) = [finding for finding in found if finding.name == "near_leaks"]
    assert leak.stops and leak.sentence.startswith("30 windows of validation and test are nearly")


def test_windows_that_repeat_by_nature_are_no_leak(tmp_path):
    # A day like every other one, but for a little noise, in every split.
    day = np.sin(np.arange(64)[:, None] / 5)
    histories = {
        split: [
            (day + GENERATOR.normal(0, 0.001, day.shape)).astype(np.float32) for _ in range(size)
        ]
        for split, size in (("train", 200), ("validation", 60), ("test", 60))
    }
    dataset = open_windows(histories, tmp_path)
    (finding,) = near.find_near_leaks(dataset, CONFIG, near_pairs(dataset))
    assert finding.sentence.startswith("120 windows of validation and test are nearly equal")
    assert finding.severity == "warning" and finding.amount == 0


OTHERS = {
    "higher": lambda past: past + 0.2 * past.std(0),
    "wider": lambda past: (past - past.mean(0)) * 1.2 + past.mean(0),
    "with a gap": with_gap,
    "every four steps backwards": lambda past: past.reshape(-1, 4)[:, ::-1].reshape(-1, 1),
}


@pytest.mark.parametrize("how", OTHERS)
def test_windows_of_another_level_spread_or_detail_are_no_near_copies(how, tmp_path):
    generator = np.random.default_rng(1)
    noise = [generator.normal(size=(64, 1)).astype(np.float32) for _ in range(60)]
    histories = {
        "train": noise[:40],
        "validation": noise[40:],
        "test": [OTHERS[how](past).astype(np.float32) for past in noise[:20]],
    }
    assert len(near_pairs(open_windows(histories, tmp_path))) == 0


def test_a_channel_that_differs_is_enough_to_tell_windows_apart(tmp_path):
    histories = clean(num_channels=3)
    histories["test"][:20] = [past.copy() for past in histories["train"][:20]]
    for past in histories["test"][:20]:
        past[:, 2] = past[::-1, 2]
    assert len(near_pairs(open_windows(histories, tmp_path))) == 0
