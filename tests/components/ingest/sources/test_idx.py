import gzip

import numpy as np
import pytest

from components.ingest.errors import DataError
from components.ingest.sources import idx
from tests.components import data_factories


@pytest.fixture
def source(tmp_path):
    return data_factories.write_idx_dataset(tmp_path, num_train=200, num_test=60)


def read_all(source: idx.IdxSource) -> list:
    return [row for block in source.blocks() for row in block.rows()]


def test_rows_hold_the_pixels_and_labels_of_the_files(source, monkeypatch):
    monkeypatch.setattr(idx, "_BLOCK_BYTES", 7 * 16)
    rows = read_all(source)
    images, labels = data_factories.random_images(200, seed=200)
    assert [row.content for row in rows[:200]] == [image.tobytes() for image in images]
    assert [row.label for row in rows[:200]] == labels.tolist()


def test_keys_are_unique_and_say_where_a_row_is(source):
    keys = [row.key for row in read_all(source)]
    assert keys[0] == "train/00000000" and keys[-1] == "test/00000059"
    assert len(set(keys)) == 260


def test_plain_files_are_read_as_well(tmp_path):
    images, labels = data_factories.random_images(5)
    pair = (
        data_factories.write_idx(tmp_path / "images", images),
        data_factories.write_idx(tmp_path / "labels", labels),
    )
    assert len(read_all(idx.IdxSource({"train": pair}, "test"))) == 5


def test_truncated_gzip_is_named(source):
    images, _ = source.pairs["train"]
    images.write_bytes(images.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"Expected to read .*train-images.* to its end, but"):
        read_all(source)


def test_damaged_gzip_is_named(source):
    images, _ = source.pairs["train"]
    data = bytearray(images.read_bytes())
    data[100:120] = b"\xff" * 20
    images.write_bytes(data)
    with pytest.raises(DataError, match=r"Expected to read .*train-images"):
        read_all(source)


def test_file_with_fewer_images_than_it_says_is_named(source):
    images, _ = source.pairs["test"]
    images.write_bytes(gzip.compress(gzip.decompress(images.read_bytes())[:-5]))
    with pytest.raises(DataError, match=r"more bytes in .*t10k-images.*; the file ends after"):
        read_all(source)


def test_empty_file_is_named(source):
    images, _ = source.pairs["train"]
    images.write_bytes(b"")
    with pytest.raises(DataError, match=r"more bytes in .*train-images.* ends after 0"):
        read_all(source)


def test_file_with_more_than_it_says_is_named(source):
    images, _ = source.pairs["test"]
    images.write_bytes(gzip.compress(gzip.decompress(images.read_bytes()) + b"x"))
    with pytest.raises(DataError, match=r"t10k-images.* to end after its last value"):
        read_all(source)


def test_file_of_another_kind_is_named(source):
    images, _ = source.pairs["train"]
    images.write_bytes(gzip.compress(b"<html>not found</html>"))
    with pytest.raises(DataError, match=r"to be an IDX file of uint8 values with 3 dimensions"):
        read_all(source)


def test_labels_of_another_number_are_refused(tmp_path, source):
    _, labels = source.pairs["train"]
    data_factories.write_idx(labels, np.zeros(199, np.uint8))
    with pytest.raises(DataError, match=r"200 images in .* and 199 labels in"):
        read_all(source)


def test_no_images_at_all_are_refused(tmp_path):
    pair = (
        data_factories.write_idx(tmp_path / "images", np.zeros((0, 4, 4), np.uint8)),
        data_factories.write_idx(tmp_path / "labels", np.zeros(0, np.uint8)),
    )
    with pytest.raises(DataError, match=r"and at least one. Received: 0 images"):
        read_all(idx.IdxSource({"train": pair}, "test"))


def test_missing_file_is_named(source):
    images, _ = source.pairs["train"]
    images.unlink()
    with pytest.raises(DataError, match=r"Expected to read .*train-images.*No such file"):
        read_all(source)
