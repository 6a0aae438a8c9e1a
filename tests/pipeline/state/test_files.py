"""Checks that a file is written whole or not at all."""

import hashlib
import os

import pytest

from pipeline.state import files


def test_text_replaces_what_was_there(tmp_path):
    path = tmp_path / "summary.json"
    path.write_text("old")
    files.write_atomically(path, "né")
    assert path.read_text(encoding="utf-8") == "né"


def test_a_failed_write_leaves_the_old_text_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "summary.json"
    path.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_tree_is_digested_file_by_file(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").write_bytes(b"x")
    assert files.digest_tree(tmp_path) == {"a/b": hashlib.sha256(b"x").hexdigest()}
