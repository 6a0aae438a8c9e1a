import numpy as np
import pytest

from components.data_guard import blanks
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from tests.components.data_guard import guard_data

CONFIG = DataGuardConfig()


def test_blank_images_stop_above_their_limit(tmp_path):
    arrays = guard_data.clean_arrays()
    arrays["train"][0][:30] = 255
    (finding,) = blanks.find_blank_inputs(guard_data.open_arrays(arrays, tmp_path), CONFIG)
    assert finding.sentence == "30 images are of a single colour."
    assert finding.stops and finding.amount == 30 / 900


def test_texts_without_words_are_counted(tmp_path):
    corpus = guard_data.clean_texts()
    corpus["train"][0][4:8] = ["", " ", "?!", "..."]
    (finding,) = blanks.find_blank_inputs(guard_data.open_texts(corpus, tmp_path), CONFIG)
    assert finding.sentence == "4 texts are without words."
    assert finding.name == "blank_inputs" and len(finding.examples) == 3


def test_silent_recordings_are_counted_whatever_their_level(tmp_path):
    held = {split: guard_data.voices(30, seed=0) for split in guard_data.SIZES}
    held["train"][3] = np.zeros(400)
    held["test"][7] = np.full(400, 0.3)
    dataset = Dataset.open(guard_data.ingest_recordings(held, tmp_path))
    (finding,) = blanks.find_blank_inputs(dataset, CONFIG)
    assert finding.sentence == "2 recordings are silent." and finding.amount == 2 / 90
    assert finding.examples == (("train/3",), ("test/7",))


@pytest.mark.parametrize("value", [7.0, np.nan])
def test_windows_in_which_nothing_moves_are_counted(value, tmp_path):
    histories = {split: guard_data.walks(20, seed=0) for split in guard_data.SIZES}
    histories["train"][3] = np.full((64, 1), value, np.float32)
    dataset = Dataset.open(guard_data.ingest_windows(histories, tmp_path))
    (finding,) = blanks.find_blank_inputs(dataset, CONFIG)
    assert finding.amount == 1 / 60 and finding.stops
    assert finding.examples == (("train/3",),)


MOVING = {
    "a gap": lambda steps: np.where((steps > 4) & (steps < 9), np.nan, steps),
    # Each part of it has the mean of all.
    "quick change": lambda steps: steps % 2.0,
}


@pytest.mark.parametrize("how", MOVING)
def test_pasts_that_move_are_no_flat_windows(how, tmp_path):
    past = MOVING[how](np.arange(64.0)).astype(np.float32)[:, None]
    histories = {split: [past] for split in guard_data.SIZES}
    dataset = Dataset.open(guard_data.ingest_windows(histories, tmp_path))
    assert blanks.find_blank_inputs(dataset, CONFIG) == []
