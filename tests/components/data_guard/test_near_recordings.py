import io

import numpy as np
import pytest
import scipy.signal
import soundfile

from components.data_guard import duplicates, guard, near
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from tests.components.data_guard import guard_data

CONFIG = DataGuardConfig()
GENERATOR = np.random.default_rng(5)
NUM_PLANTED = 100


@pytest.fixture(scope="module")
def held():
    return {
        split: guard_data.voices(size, seed=seed)
        for seed, (split, size) in enumerate((("train", 300), ("validation", 30), ("test", 120)))
    }


def near_pairs(dataset):
    return near.find_near_pairs(dataset, duplicates.find_copies(dataset))


def compressed(samples):
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, 8000, format="MP3", subtype="MPEG_LAYER_III")
    buffer.seek(0)
    return soundfile.read(buffer)[0]


def noisy(samples):
    # 26 dB below the recording.
    return samples + GENERATOR.normal(0, samples.std() / 20, len(samples))


NEAR_COPIES = {
    "softer": lambda samples: samples * 0.2,
    "louder": lambda samples: samples * 1.5,
    "later": lambda samples: np.concatenate([np.zeros(777), samples, np.zeros(1234)]),
    "compressed and decoded": compressed,
    "of another rate and back": lambda samples: scipy.signal.resample_poly(
        scipy.signal.resample_poly(samples, 441, 320), 320, 441
    ),
    "noisy": noisy,
}


@pytest.mark.parametrize("how", NEAR_COPIES)
def test_at_least_95_percent_of_near_recordings_are_found(how, held, tmp_path):
    copies = [NEAR_COPIES[how](samples) for samples in held["train"][: 2 * NUM_PLANTED : 2]]
    planted = {**held, "test": copies + held["test"][NUM_PLANTED:]}
    dataset = Dataset.open(guard_data.ingest_recordings(planted, tmp_path))
    found = {dataset.keys(*pair) for pair in near_pairs(dataset)}
    expected = {(f"train/{2 * row}", f"test/{row}") for row in range(NUM_PLANTED)}
    assert len(found & expected) >= 95 and not found - expected


def test_the_same_sounds_in_another_order_are_no_near_copy(held, tmp_path):
    # Backwards every band has the same spectrum of loudness; only their order tells.
    backwards = [samples[::-1] for samples in held["train"][:30]]
    dataset = Dataset.open(guard_data.ingest_recordings({**held, "test": backwards}, tmp_path))
    assert len(near_pairs(dataset)) == 0


def test_softer_copies_in_two_splits_stop_the_run(held, tmp_path):
    copies = [samples * 0.3 for samples in held["train"][30:60]]
    folder = guard_data.ingest_recordings({**held, "test": copies}, tmp_path)
    found = guard.find_all(folder, CONFIG)
    (leak,) = [finding for finding in found if finding.name == "near_leaks"]
    assert leak.stops and leak.amount == 30 / 60
    assert leak.sentence.startswith("30 recordings of validation and test are nearly equal to one")


def test_equal_recordings_in_two_splits_stop_the_run(held, tmp_path):
    planted = {**held, "test": [*held["test"][:5], held["train"][2]]}
    found = guard.find_all(guard_data.ingest_recordings(planted, tmp_path), CONFIG)
    leak = next(finding for finding in found if finding.name == "exact_leaks")
    assert leak.stops and leak.examples == (("test/5", "train/2"),)
