import pytest

from components.ingest import tfrecord
from components.input_pipeline import shard_index


@pytest.fixture
def shards(tmp_path):
    paths = []
    for name, records in (("a", [b"one", b""]), ("b", [b"three"])):
        writer = tfrecord.RecordWriter(tmp_path / name)
        for record in records:
            writer.write(record)
        writer.close()
        paths.append(str(tmp_path / name))
    return paths


def test_offsets_are_where_the_records_begin(shards):
    index = shard_index.index_shards(shards)
    assert index.shards_N.tolist() == [0, 0, 1]
    assert index.offsets_N.tolist() == [0, 16 + len(b"one"), 0]


def test_no_shards_are_refused():
    with pytest.raises(ValueError, match=r"Received: shards=\[\]. Ingest"):
        shard_index.index_shards([])


def test_missing_shard_is_named(shards):
    with pytest.raises(ValueError, match=r"Received: shard=/nowhere .*No such file"):
        shard_index.index_shards([*shards, "/nowhere"])


def test_empty_shard_is_named(shards, tmp_path):
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(ValueError, match=r"non-empty TFRecord shard. Received: shard=.*/a "):
        shard_index.index_shards(shards)


@pytest.mark.parametrize("num_bytes", [1, 10, 25])
def test_truncated_shard_is_named(shards, tmp_path, num_bytes):
    data = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(data[:num_bytes])
    with pytest.raises(ValueError, match=r"/a .*ingest again"):
        shard_index.index_shards(shards)
