import numpy as np
import pytest

from components.data_guard import series
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from components.ingest.config import DataConfig
from components.ingest.sources.base import Row
from tests.components.data_guard import guard_data

CONFIG = DataGuardConfig()


def open_windows(histories: dict[str, list[np.ndarray]], folder) -> Dataset:
    data = DataConfig.from_dict(
        {
            "source": {"kind": "csv", "path": "/series.csv"},
            "series": {
                "time": "time",
                "value": "value",
                "history_steps": 32,
                "horizon_steps": 1,
                "period_steps": 4,
            },
            "splits": {"by": "time", "key": "time"},
        }
    )
    rows = {
        split: [
            Row(f"{split}/{index}", {"history": past}, None, past.tobytes(), time=index)
            for index, past in enumerate(found)
        ]
        for split, found in histories.items()
    }
    return Dataset.open(guard_data.ingest_rows(rows, data, folder))


@pytest.mark.parametrize("value", [7.0, np.nan])
def test_windows_in_which_nothing_moves_are_counted(value, tmp_path):
    generator = np.random.default_rng(0)
    histories = {
        split: list(generator.normal(size=(20, 32)).astype(np.float32))
        for split in guard_data.SIZES
    }
    histories["train"][3] = np.full(32, value, np.float32)
    (finding,) = series.find_flat_windows(open_windows(histories, tmp_path), CONFIG)
    assert finding.amount == 1 / 60 and finding.stops
    assert finding.examples == (("train/3",),)


def test_a_gap_in_a_moving_past_is_no_flat_window(tmp_path):
    past = np.arange(32, dtype=np.float32)
    past[5:9] = np.nan
    histories = {split: [past] for split in guard_data.SIZES}
    assert series.find_flat_windows(open_windows(histories, tmp_path), CONFIG) == []
