import json

import numpy as np
import pytest

from components.ingest.errors import DataError
from tests.components import data_factories
from tests.components.ingest.ingest_factories import run


def test_label_outside_the_class_names_stops_the_run(source, tmp_path):
    label = {"class_names": ["ant", "bee"]}
    with pytest.raises(DataError, match=r"train/00000002: its label 2 is outside .*\(0 to 1\)"):
        run(source, tmp_path, label=label)
    assert [path.suffix for path in (tmp_path / "datasets").iterdir()] == [".lock"]


def test_rejects_below_the_allowed_share_are_listed(source, tmp_path):
    _, labels = source.pairs["train"]
    changed = np.arange(200, dtype=np.uint8) % 3
    changed[[5, 7]] = 9
    data_factories.write_idx(labels, changed)
    dataset = run(source, tmp_path / "cache", rejects={"max_share": 0.01})
    lines = (dataset.path / "rejects.jsonl").read_text().splitlines()
    assert [json.loads(line)["key"] for line in lines] == ["train/00000005", "train/00000007"]
    assert dataset.manifest.num_rejects == 2


def test_rejects_above_the_allowed_share_stop_the_run(source, tmp_path):
    _, labels = source.pairs["train"]
    changed = np.arange(200, dtype=np.uint8) % 3
    changed[:4] = 9
    data_factories.write_idx(labels, changed)
    with pytest.raises(DataError, match=r"at most 1.00% of 260 rows .* Received: 4 so far"):
        run(source, tmp_path / "cache", rejects={"max_share": 0.01})


def test_class_missing_from_a_split_stops_the_run(tmp_path):
    source = data_factories.write_idx_dataset(tmp_path / "source", num_test=2)
    with pytest.raises(DataError, match=r"every class in the test split. Received: none of cat"):
        run(source, tmp_path)


def test_split_that_comes_out_empty_stops_the_run(source, tmp_path):
    with pytest.raises(
        DataError, match=r"the validation split. .* data.splits.validation_share \(now"
    ):
        run(source, tmp_path, splits={"validation_share": 1e-6})
