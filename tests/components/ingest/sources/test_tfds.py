import contextlib
import http.server
import io
import socket
import threading

import numpy as np
import PIL.Image
import pytest
import soundfile
import tensorflow_datasets as tfds

from components.ingest import example, ingest, resolve, tfrecord
from components.ingest.errors import DataError
from components.ingest.sources import debian, tfds_folder
from components.ingest.sources import tfds as tfds_source
from tests.components import data_factories


def config(name: str, data_dir=None, **changes):
    source = {"kind": "tfds", "name": name}
    if data_dir is not None:
        source["data_dir"] = str(data_dir)
    return data_factories.data_config(source=source, **changes)


class TinyImages(tfds.core.GeneratorBasedBuilder):
    """A dataset whose only file comes from the address in `url`."""

    VERSION = tfds.core.Version("1.0.0")
    url = ""

    def _info(self):
        features = tfds.features.FeaturesDict(
            {
                "image": tfds.features.Image(shape=(4, 4, 1)),
                "label": tfds.features.ClassLabel(names=["ant", "bee", "cat"]),
            }
        )
        return tfds.core.DatasetInfo(builder=self, features=features)

    @property
    def url_infos(self):
        return {self.url: None}

    def _split_generators(self, dl_manager):
        seed = int(dl_manager.download(self.url).read_text())
        return {"train": self._generate_examples(seed), "test": self._generate_examples(seed + 1)}

    def _generate_examples(self, seed):
        images, labels = data_factories.random_images(60, seed=seed)
        for index in range(60):
            yield index, {"image": images[index][..., None], "label": int(labels[index])}


@contextlib.contextmanager
def serve(folder):
    """Serves the files of a folder on this machine and yields the address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_message(self, *args):
            del args

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder that TFDS has prepared, over HTTP, through `resolve.open_source`."""
    folder = tmp_path_factory.mktemp("tfds")
    (folder / "seed.txt").write_text("5")
    with serve(folder) as address, pytest.MonkeyPatch.context() as patch:
        patch.setattr(TinyImages, "url", f"{address}/seed.txt")
        patch.setenv("TFDS_DATA_DIR", str(folder / "none"))
        resolve.open_source(config("tiny_images"), folder)
    return folder / "tfds"


def test_dataset_is_fetched_prepared_and_read(prepared):
    source = resolve.find_local(config("tiny_images", prepared), prepared)
    rows = [row for block in source.blocks() for row in block.rows()]
    images, labels = data_factories.random_images(60, seed=5)
    found = {
        np.asarray(PIL.Image.open(io.BytesIO(row.features["image"]))).tobytes(): row.label
        for row in rows[:60]
    }
    expected = {
        image.tobytes(): label for image, label in zip(images, labels.tolist(), strict=True)
    }
    assert found == expected


def test_prepared_dataset_is_ingested_without_the_network(prepared, tmp_path):
    dataset = ingest.ingest(config("tiny_images", prepared), seed=1, cache_dir=tmp_path)
    rows = [
        example.decode_example(record)
        for shard in dataset.manifest.splits["test"].shards
        for record in tfrecord.read_records(dataset.path / shard.path)
    ]
    assert len(rows) == 60
    assert dataset.manifest.origin == "TensorFlow Datasets tiny_images, version 1.0.0"


def test_version_that_is_not_there_is_not_found(prepared):
    assert resolve.find_local(config("tiny_images:9.9.9", prepared), prepared) is None


def test_newest_version_is_taken(tmp_path):
    names = ["1.9.0", "1.10.0", "1.2.0"]
    assert max(names, key=tfds_folder._version_key) == "1.10.0"


def test_missing_shard_is_named(prepared, tmp_path):
    copy = copy_prepared(prepared, tmp_path)
    shard = next(copy.glob("*-train.tfrecord*"))
    shard.unlink()
    with pytest.raises(DataError, match=f"Received: no file {shard}. Remove the folder"):
        resolve.find_local(config("tiny_images", tmp_path), tmp_path)


def test_truncated_shard_is_named(prepared, tmp_path):
    shard = next(copy_prepared(prepared, tmp_path).glob("*-train.tfrecord*"))
    shard.write_bytes(shard.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"tiny_images-train.*, record 59; the file is truncated"):
        ingest.ingest(config("tiny_images", tmp_path), seed=1, cache_dir=tmp_path / "cache")


_PACKAGE = """
import numpy as np
import tensorflow_datasets as tfds

class TinyRows(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        features = {
            "size": np.float32,
            "legs": np.int64,
            "vip": np.bool_,
            "colour": tfds.features.ClassLabel(names=["blue", "red"]),
            "kind": tfds.features.ClassLabel(names=["ant", "bee"]),
            "note": tfds.features.Text(),
            "pair": tfds.features.Tensor(shape=(2,), dtype=np.float32),
            "more": {"deep": np.int64},
            "sound": tfds.features.Audio(shape=(None,), dtype=np.int64, sample_rate=8000),
        }
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples()}

    def _generate_examples(self):
        for row in range(200):
            yield row, {
                "size": row / 4, "legs": row, "vip": row % 3 == 0, "colour": row % 2,
                "kind": row // 2 % 2, "note": f"Größe {row}", "pair": [row, -row],
                "more": {"deep": 7 * row}, "sound": [row, -row, 3] * 100,
            }
"""
_NUMBERS = ("size", "legs", "vip", "pair[1]", "more/deep")


@pytest.fixture(scope="module")
def rows_folder(tmp_path_factory):
    """A dataset of no images, which a package of the user's defines, prepared by a recipe."""
    folder = tmp_path_factory.mktemp("rows")
    (folder / "my_datasets").mkdir()
    (folder / "my_datasets" / "__init__.py").write_text(_PACKAGE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("TFDS_DATA_DIR", str(folder / "none"))
        data = rows_config(None, text={"source_name": "note"}, source={"package": "my_datasets"})
        resolve.open_source(data, folder)
    return folder / "tfds"


def rows_config(data_dir, source=(), **changes):
    values = {
        "source": {"kind": "tfds", "name": "tiny_rows", **dict(source)},
        "label": {"source_name": "kind", "class_names": ["ant", "bee"]},
        "splits": {"test_share": 0.2},
        "image": None,
    }
    if data_dir is not None:
        values["source"]["data_dir"] = str(data_dir)
    return data_factories.data_config(**{**values, **changes})


def decoded_rows(data):
    """The rows by what they were made from, and as TFDS itself reads them."""
    source = resolve.find_local(data, None)
    rows = [row for block in source.blocks() for row in block.rows()]
    found = [example.decode_example(row.example) for row in rows]
    builder = tfds.builder_from_directory(str(source.folder))
    return found, list(tfds.as_numpy(builder.as_dataset(split="train")))


def test_a_dataset_of_texts_is_read_as_tfds_reads_it(rows_folder):
    found, expected = decoded_rows(rows_config(rows_folder, text={"source_name": "note"}))
    assert len(found) == 200
    assert [(row["text"][0], row["label"][0]) for row in found] == [
        (row["note"], row["kind"]) for row in expected
    ]


def test_a_dataset_of_columns_is_read_as_tfds_reads_it(rows_folder):
    columns = {name: {"kind": "number"} for name in _NUMBERS}
    columns["colour"] = {"kind": "category"}
    table = {"columns": columns}
    target = {"source_name": "legs"}
    data = rows_config(rows_folder, table=table, label=None, target=target)
    found, expected = decoded_rows(data)
    assert [[row[name][0] for name in _NUMBERS] for row in found] == [
        [row["size"], row["legs"], row["vip"], row["pair"][1], row["more"]["deep"]]
        for row in expected
    ]
    names = [b"blue", b"red"]
    assert [row["colour"][0] for row in found] == [names[row["colour"]] for row in expected]
    assert [row["target"][0] for row in found] == [row["legs"] for row in expected]


def test_a_dataset_of_recordings_is_read_as_tfds_reads_it(rows_folder):
    audio = {"source_name": "sound", "sample_rate_hz": 8000, "max_seconds": 0.04}
    found, expected = decoded_rows(rows_config(rows_folder, audio=audio))
    for row, truth in zip(found, expected, strict=True):
        samples, rate_hz = soundfile.read(io.BytesIO(row["audio"][0]), dtype="int16")
        assert rate_hz == 8000
        np.testing.assert_array_equal(samples, truth["sound"])


def test_a_dataset_is_split_by_a_column(rows_folder, tmp_path):
    splits = {"by": "group", "key": "legs", "test_share": 0.2}
    data = rows_config(rows_folder, text={"source_name": "note"}, splits=splits)
    dataset = ingest.ingest(data, seed=1, cache_dir=tmp_path)
    assert sum(split.num_rows for split in dataset.manifest.splits.values()) == 200


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": {"source_name": "nota"}}, r'source_name=nota.* Did you mean "note"'),
        (
            {"audio": {"source_name": "sound", "sample_rate_hz": 16000, "max_seconds": 1.0}},
            "sample_rate_hz = 16000; the dataset has 8000",
        ),
        (
            {"text": {"source_name": "note"}, "splits": {"by": "group", "key": "leg"}},
            'data.splits.key to be .* Did you mean "legs"',
        ),
    ],
)
def test_a_recipe_that_contradicts_a_dataset_of_rows_is_refused(rows_folder, changes, message):
    with pytest.raises(DataError, match=message):
        resolve.find_local(rows_config(rows_folder, **changes), None)


def test_a_package_that_is_not_there_is_named(tmp_path):
    data = rows_config(tmp_path, text={}, source={"package": "no_such_datasets"})
    with pytest.raises(DataError, match=r'package="no_such_datasets", but: No module named'):
        resolve.open_source(data, tmp_path)


def copy_prepared(prepared, folder):
    target = folder / "tiny_images" / "1.0.0"
    target.mkdir(parents=True)
    for path in (prepared / "tiny_images" / "1.0.0").iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"label": {"class_names": ["bee", "ant", "cat"]}},
            r"the dataset has \['ant', 'bee', 'cat'\]",
        ),
        (
            {"image": {"height_px": 8, "width_px": 4, "channels": 1}},
            "Received: 4 x 4 px with 1 chan",
        ),
        (
            {"image": {"source_name": "imag", "height_px": 4, "width_px": 4, "channels": 1}},
            r'data.image.source_name=imag, features=\[.*\]. Did you mean "image"?',
        ),
        (
            {"splits": {"test_share": 0.1}},
            "Expected no data.splits.test_share, since the source has",
        ),
    ],
)
def test_recipe_that_contradicts_the_dataset_is_refused(prepared, tmp_path, changes, message):
    with pytest.raises(DataError, match=message):
        ingest.ingest(config("tiny_images", prepared, **changes), seed=1, cache_dir=tmp_path)


def test_other_size_is_accepted_when_the_recipe_resizes(prepared):
    image = {"height_px": 8, "width_px": 8, "channels": 3, "resize": True}
    assert resolve.find_local(config("tiny_images", prepared, image=image), prepared)


def test_idx_files_in_the_named_folder_are_used(tmp_path):
    data_factories.write_idx_dataset(tmp_path / "mine")
    source = resolve.find_local(config("fashion_mnist", tmp_path / "mine"), tmp_path)
    assert source.origin == "IDX files of fashion_mnist"


def test_idx_files_of_another_size_are_refused(tmp_path):
    data_factories.write_idx_dataset(tmp_path / "mine")
    image = {"height_px": 28, "width_px": 28, "channels": 1}
    with pytest.raises(DataError, match=r"Expected images of 28 x 28 px .* Received: 4 x 4 px"):
        resolve.find_local(config("fashion_mnist", tmp_path / "mine", image=image), tmp_path)


def test_unknown_name_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(DataError, match=r'name="fashion_mnits". Did you mean "fashion_mnist"'):
        resolve.open_source(config("fashion_mnits", tmp_path), tmp_path)


def test_no_network_and_no_copy_names_three_cures(tmp_path, monkeypatch):
    def no_apt(name, cache_dir):
        raise debian.FetchError("apt-get said: E: no network")

    monkeypatch.setattr(tfds_source, "first_unreachable", lambda urls: "images.example")
    monkeypatch.setattr(debian, "find_installed", lambda name, cache_dir: None)
    monkeypatch.setattr(debian, "fetch", no_apt)
    cures = (
        "no local copy, and images.example does not answer; apt-get said: E: no network. "
        "Connect this machine and run again, or install the Debian package dataset-fashion-mnist, "
        "or name a folder that holds a copy in data.source.data_dir."
    )
    with pytest.raises(DataError, match=cures):
        resolve.open_source(config("fashion_mnist", tmp_path), tmp_path)


def test_unreachable_host_is_named_quickly():
    with socket.create_server(("127.0.0.1", 0)) as server:
        open_port = server.getsockname()[1]
        assert tfds_source.first_unreachable([f"http://127.0.0.1:{open_port}/a"]) is None
    closed = [f"http://127.0.0.1:{open_port}/a"]
    assert tfds_source.first_unreachable(closed) == "127.0.0.1"


def test_dataset_without_addresses_is_taken_as_reachable():
    assert tfds_source.first_unreachable([]) is None


def test_behind_a_proxy_the_proxy_is_asked(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert tfds_source.first_unreachable(["http://no-such-host.invalid/a"]) is None
