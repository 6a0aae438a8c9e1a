import os
from pathlib import Path

import pytest

from components.ingest import digest
from components.ingest.errors import DataError
from tests.components import data_factories


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
