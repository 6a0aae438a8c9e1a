import concurrent.futures
import hashlib
import json

import numpy as np

from components.ingest import workers
from components.ingest.sources import idx
from tests.components import data_factories
from tests.components.ingest.ingest_factories import read_split, run


def test_every_row_is_in_exactly_one_split(source, tmp_path):
    dataset = run(source, tmp_path / "cache")
    keys = [
        row["key"][0]
        for split in ("train", "validation", "test")
        for row in read_split(dataset, split)
    ]
    assert sorted(keys) == sorted(
        [b"train/%08d" % index for index in range(200)]
        + [b"test/%08d" % index for index in range(60)]
    )


def test_the_test_split_that_the_source_gives_is_kept(source, tmp_path):
    rows = read_split(run(source, tmp_path / "cache"), "test")
    assert sorted(row["key"][0] for row in rows) == [b"test/%08d" % index for index in range(60)]


def test_labels_stay_with_their_images(source, tmp_path):
    rows = read_split(run(source, tmp_path / "cache"), "train")
    assert all(row["label"] == [int(row["key"][0][6:]) % 3] for row in rows)


def test_shards_have_the_names_that_tfx_expects(source, tmp_path):
    dataset = run(source, tmp_path / "cache")
    names = sorted(path.name for path in (dataset.path / "Split-train").iterdir())
    assert names == ["data_tfrecord-00000-of-00001"]


def test_manifest_counts_rows_and_classes(source, tmp_path):
    manifest = json.loads((run(source, tmp_path / "cache").path / "manifest.json").read_text())
    test = manifest["splits"]["test"]
    assert (test["num_rows"], test["class_counts"]) == (60, {"ant": 20, "bee": 20, "cat": 20})


def test_manifest_holds_the_digest_of_every_shard(source, tmp_path):
    dataset = run(source, tmp_path / "cache")
    for shard in dataset.manifest.shards():
        data = (dataset.path / shard.path).read_bytes()
        assert (shard.num_bytes, shard.sha256) == (len(data), hashlib.sha256(data).hexdigest())


def test_second_ingest_is_a_hit(source, tmp_path, monkeypatch):
    first = run(source, tmp_path / "cache")
    monkeypatch.setattr(workers, "write_blocks", None)
    assert run(source, tmp_path / "cache") == first


def test_equal_bytes_elsewhere_give_the_same_digest(tmp_path):
    datasets = [
        run(data_factories.write_idx_dataset(tmp_path / name), tmp_path / name / "cache")
        for name in ("here", "there")
    ]
    assert datasets[0].digest == datasets[1].digest


def test_another_seed_gives_another_dataset(source, tmp_path):
    assert run(source, tmp_path, seed=1).digest != run(source, tmp_path, seed=2).digest


def test_rows_stay_in_their_split_when_the_data_grows(tmp_path):
    images, labels = data_factories.random_images(300)
    splits_of = []
    for count in (200, 300):
        pair = (
            data_factories.write_idx(tmp_path / f"images{count}", images[:count]),
            data_factories.write_idx(tmp_path / f"labels{count}", labels[:count]),
        )
        source = idx.IdxSource({"train": pair}, "test")
        dataset = run(source, tmp_path, splits={"validation_share": 0.2, "test_share": 0.2})
        splits_of.append(
            {
                row["key"][0]: split
                for split in ("train", "validation", "test")
                for row in read_split(dataset, split)
            }
        )
    assert splits_of[0].items() <= splits_of[1].items()


def test_equal_images_are_in_the_same_split(tmp_path):
    images, labels = data_factories.random_images(100)
    pair = (
        data_factories.write_idx(tmp_path / "images", np.concatenate([images, images])),
        data_factories.write_idx(tmp_path / "labels", np.concatenate([labels, labels])),
    )
    source = idx.IdxSource({"train": pair}, "test")
    dataset = run(source, tmp_path, splits={"validation_share": 0.3, "test_share": 0.2})
    numbers = {
        split: [int(row["key"][0][6:]) for row in read_split(dataset, split)]
        for split in ("train", "validation", "test")
    }
    assert all(
        sorted(number % 100 for number in found) == sorted([n for n in found if n < 100] * 2)
        for found in numbers.values()
    )


def test_two_at_once_write_one_dataset(source, tmp_path):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: run(source, tmp_path / "cache"), range(2)))
    assert both[0] == both[1]
    assert len([path for path in (tmp_path / "cache" / "datasets").iterdir() if path.is_dir()]) == 1


def test_ingest_imports_no_tensorflow(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from components.ingest import ingest\n"
        "from components.ingest.config import DataConfig\n"
        "import pipeline, tomllib\n"
        "recipe = Path(pipeline.__file__).parent / 'recipes' / 'digits.toml'\n"
        "data = DataConfig.from_dict(tomllib.loads(recipe.read_text())['data'])\n"
        "ingest.ingest(data, seed=7, cache_dir=Path(sys.argv[1]))\n"
        "print(sorted({'tensorflow', 'sklearn', 'tensorflow_datasets'} & set(sys.modules)))\n"
    )
    assert data_factories.run_python(code, str(tmp_path)).strip() == "[]"
