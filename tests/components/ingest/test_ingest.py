import concurrent.futures
import hashlib
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from components.ingest import atomic, digest, example, ingest, tfrecord, workers
from components.ingest.errors import DataError
from components.ingest.sources import idx
from tests.components import data_factories


@pytest.fixture
def source(tmp_path):
    return data_factories.write_idx_dataset(tmp_path / "source")


def run(source, cache_dir, *, seed=7, **changes):
    data = data_factories.data_config(**changes)
    return ingest.ingest_source(source, data, seed=seed, cache_dir=cache_dir)


def read_split(dataset: ingest.Dataset, split: str) -> list[dict]:
    paths = sorted((dataset.path / f"Split-{split}").iterdir())
    return [
        example.decode_example(record) for path in paths for record in tfrecord.read_records(path)
    ]


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


def test_one_process_and_several_write_the_same_bytes(tmp_path):
    source = data_factories.SyntheticSource(num_rows=2_000)
    code = (
        "import sys; from pathlib import Path\n"
        "from components.ingest import workers\n"
        "from tests.components import data_factories\n"
        "from tests.components.ingest.test_ingest import run\n"
        "workers._MIN_PARALLEL_BYTES = 0\n"
        "source = data_factories.SyntheticSource(num_rows=2_000)\n"
        "assert workers.num_workers(1, num_shards=2) == 2\n"
        "print(run(source, Path(sys.argv[1])).digest)\n"
    )
    several = data_factories.run_python(code, str(tmp_path / "several"))
    assert several.strip() == run(source, tmp_path / "one").digest


def test_two_at_once_write_one_dataset(source, tmp_path):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: run(source, tmp_path / "cache"), range(2)))
    assert both[0] == both[1]
    assert len([path for path in (tmp_path / "cache" / "datasets").iterdir() if path.is_dir()]) == 1


def test_leftover_of_a_killed_process_is_replaced(source, tmp_path):
    final = run(source, tmp_path / "cache").path
    final.rename(final.with_name(final.name + ".part"))
    assert run(source, tmp_path / "cache").path == final
    assert not final.with_name(final.name + ".part").exists()


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


def test_full_disk_leaves_nothing(tmp_path):
    source = data_factories.SyntheticSource(num_rows=2_000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(DataError, match=r"Expected to write the dataset under .* too large"):
            run(source, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.suffix for path in (tmp_path / "datasets").iterdir()] == [".lock"]


def test_folder_that_may_not_be_written_is_named(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o500)
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        with (
            pytest.raises(DataError, match=r"may not be written. .* set XDG_CACHE_HOME"),
            atomic.new_folder(tmp_path / "cache" / "datasets" / "new"),
        ):
            pytest.fail("the folder was made")
    finally:
        os.seteuid(was)


INTERRUPTED = """
import os, sys
from pathlib import Path
from components.ingest import workers
from tests.components import data_factories
from tests.components.ingest.test_ingest import run
os.environ["KERASLINE_PROGRESS_FD"] = "1"
workers._MIN_PARALLEL_BYTES = int(sys.argv[2])
run(data_factories.SyntheticSource(num_rows=10_000_000), Path(sys.argv[1]))
"""


@pytest.mark.parametrize("min_parallel_bytes", [0, 10**12])
def test_control_c_midway_leaves_nothing(tmp_path, min_parallel_bytes):
    process = subprocess.Popen(
        **data_factories.python_command(INTERRUPTED, str(tmp_path), str(min_parallel_bytes)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and errors.rstrip().endswith(b"KeyboardInterrupt")
    assert [path.suffix for path in (tmp_path / "datasets").iterdir()] == [".lock"]
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_source_digest_follows_the_bytes(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    digests = [digest.files_digest({"file": path}, tmp_path / "cache")]
    path.write_bytes(b"two")
    digests.append(digest.files_digest({"file": path}, tmp_path / "cache"))
    path.write_bytes(b"one")
    digests.append(digest.files_digest({"file": path}, tmp_path / "cache"))
    assert digests[0] == digests[2] != digests[1]


def test_unchanged_file_is_not_read_again(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    os.utime(path, (1_000_000, 1_000_000))
    first = digest.files_digest({"file": path}, tmp_path / "cache")
    monkeypatch.setattr(digest.hashlib, "file_digest", None)
    assert digest.files_digest({"file": path}, tmp_path / "cache") == first


def test_digest_works_without_a_cache_that_can_be_written(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    assert digest.files_digest({"file": path}, path) == digest.files_digest(
        {"file": path}, tmp_path / "cache"
    )


def test_source_digest_follows_the_names(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    digests = {digest.files_digest({name: path}, tmp_path / "cache") for name in ("a", "b")}
    assert len(digests) == 2


def test_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DataError, match=r"Expected to read /nowhere, but: No such file"):
        digest.files_digest({"file": Path("/nowhere")}, tmp_path)


def test_source_that_was_never_fetched_has_no_digest(tmp_path):
    data = data_factories.data_config(
        source={"kind": "tfds", "name": "cifar10", "data_dir": str(tmp_path)}
    )
    assert digest.source_digest(data, tmp_path) == "absent"


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
