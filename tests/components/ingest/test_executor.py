"""The Examples artifact holds the dataset's files, on a disk or at an address."""

import json

import pytest
import tensorflow as tf
from tfx.types import standard_artifacts

from components.ingest import executor, tfrecord
from tests.components import tfx_factories
from tests.components.ingest.ingest_factories import run


@pytest.fixture
def dataset(source, tmp_path):
    return run(source, tmp_path / "cache")


def files(folder):
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_a_folder_gets_the_files_without_a_copy(dataset, tmp_path):
    executor.place(dataset.path, str(tmp_path / "artifact"))
    assert files(tmp_path / "artifact") == files(dataset.path)
    (shard,) = dataset.manifest.splits["test"].shards
    copies = [folder / shard.path for folder in (dataset.path, tmp_path / "artifact")]
    assert copies[0].samefile(copies[1])


def test_an_address_gets_the_files_through_tensorflow(dataset):
    executor.place(dataset.path, "ram://bucket/artifact")
    (shard,) = dataset.manifest.splits["test"].shards
    records = tf.data.TFRecordDataset(f"ram://bucket/artifact/{shard.path}")
    written = list(tfrecord.read_records(dataset.path / shard.path))
    assert list(records.as_numpy_iterator()) == written
    with tf.io.gfile.GFile("ram://bucket/artifact/manifest.json") as file:
        assert json.loads(file.read())["digest"] == dataset.digest


@pytest.mark.parametrize("options", [[], ["--runner=DirectRunner"]])
def test_the_artifact_names_its_splits_whoever_wrote_them(source, tmp_path, monkeypatch, options):
    monkeypatch.setenv("KERASLINE_CACHE_DIR", str(tmp_path / "cache"))
    data = {
        "source": {"kind": "sklearn", "name": "digits"},
        "image": {"height_px": 8, "width_px": 8, "channels": 1},
        "label": {"class_names": [str(digit) for digit in range(10)]},
        "splits": {"test_share": 0.2},
    }
    examples = tfx_factories.artifact(standard_artifacts.Examples, tmp_path / "examples")
    context = executor.Executor.Context(beam_pipeline_args=options)
    executor.Executor(context).Do(
        {}, {"examples": [examples]}, {"data": json.dumps(data), "seed": 1}
    )
    assert examples.split_names == '["train", "validation", "test"]'
    counts = json.loads((tmp_path / "examples" / "manifest.json").read_text())["splits"]
    assert sum(split["num_rows"] for split in counts.values()) == 1797
