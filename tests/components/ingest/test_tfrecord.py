import hashlib

import pytest
import tensorflow as tf

from components.ingest import tfrecord
from components.ingest.errors import DataError

RECORDS = [b"first", b"", b"x" * 100_000]


@pytest.fixture
def path(tmp_path):
    writer = tfrecord.RecordWriter(tmp_path / "data")
    for record in RECORDS:
        writer.write(record)
    writer.close()
    return tmp_path / "data"


def test_tensorflow_reads_what_the_writer_wrote(path):
    assert list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()) == RECORDS


def test_reader_reads_what_tensorflow_wrote(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "data")) as writer:
        for record in RECORDS:
            writer.write(record)
    assert list(tfrecord.read_records(tmp_path / "data")) == RECORDS


def test_writer_knows_the_size_and_digest_of_its_file(tmp_path):
    writer = tfrecord.RecordWriter(tmp_path / "data")
    writer.write(b"first")
    writer.close()
    data = (tmp_path / "data").read_bytes()
    found = (writer.num_records, writer.num_bytes, writer.sha256)
    assert found == (1, len(data), hashlib.sha256(data).hexdigest())


def test_writer_without_records_leaves_no_file(tmp_path):
    tfrecord.RecordWriter(tmp_path / "data").close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("num_bytes", [5, 14, 22])
def test_truncated_file_is_named_with_the_record(path, num_bytes):
    path.write_bytes(path.read_bytes()[:num_bytes])
    with pytest.raises(DataError, match=r"data, record \d; the file is truncated. Fetch"):
        list(tfrecord.read_records(path))


@pytest.mark.parametrize(("position", "what"), [(0, "length checksum"), (14, "checksum is wrong")])
def test_damaged_byte_is_found(path, position, what):
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=f"record 0; its .*{what}|{what}"):
        list(tfrecord.read_records(path))
