import io

import numpy as np
import soundfile

from components.data_guard import guard, recordings
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from components.ingest.config import DataConfig
from components.ingest.sources.base import Row
from tests.components.data_guard import guard_data

CONFIG = DataGuardConfig()


def wav(samples: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, 8000, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


def ingest_recordings(held: dict[str, list[np.ndarray]], folder):
    data = DataConfig.from_dict(
        {
            "source": {"kind": "audio_folder", "path": "/sounds"},
            "audio": {"sample_rate_hz": 8000, "max_seconds": 1.0},
            "label": {"class_names": list(guard_data.CLASS_NAMES)},
        }
    )
    rows = {
        split: [
            Row(f"{split}/{index}", {"audio": wav(samples)}, index % 3, wav(samples))
            for index, samples in enumerate(found)
        ]
        for split, found in held.items()
    }
    return guard_data.ingest_rows(rows, data, folder)


def noises() -> dict[str, list[np.ndarray]]:
    generator = np.random.default_rng(0)
    return {split: list(generator.normal(0, 0.01, (30, 400))) for split in guard_data.SIZES}


def test_silent_recordings_are_counted_whatever_their_level(tmp_path):
    held = noises()
    held["train"][3] = np.zeros(400)
    held["test"][7] = np.full(400, 0.3)
    dataset = Dataset.open(ingest_recordings(held, tmp_path))
    (finding,) = recordings.find_silent_recordings(dataset, CONFIG)
    assert finding.sentence == "2 recordings are silent." and finding.amount == 2 / 90
    assert finding.examples == (("train/3",), ("test/7",))


def test_equal_recordings_in_two_splits_stop_the_run(tmp_path):
    held = noises()
    held["test"][5] = held["train"][2]
    found = guard.find_all(ingest_recordings(held, tmp_path), CONFIG)
    leak = next(finding for finding in found if finding.name == "exact_leaks")
    assert leak.stops and leak.examples == (("test/5", "train/2"),)
