import os

import pytest

from serving.server import storage

LONG_AGO, SOON = 0, 2**63


@pytest.fixture
def version(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"graph")
    return tmp_path


def test_only_numbered_folders_are_versions(tmp_path):
    for name in ("1", "00000123", "1.5", "-3", "x", ".4", "²"):
        (tmp_path / name).mkdir()
    (tmp_path / "7").write_text("a file")
    assert storage.list_versions(tmp_path) == {1: tmp_path / "1", 123: tmp_path / "00000123"}


def test_missing_base_path_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="base path must be a folder. Received:"):
        storage.list_versions(tmp_path / "none")


def test_snapshot_changes_with_the_files(version):
    before = storage.take_snapshot(version)
    assert storage.take_snapshot(version) == before
    (version / "more").write_bytes(b"")
    assert storage.take_snapshot(version) != before


def test_old_time_stamp_of_a_copied_file_does_not_make_it_look_finished(version):
    os.utime(version / "saved_model.pb", (1, 1))
    assert storage.take_snapshot(version).newest_ns > 10**18


def test_quiet_or_unchanged_folder_is_loadable(version):
    now = storage.take_snapshot(version)
    assert storage.is_loadable(version, now, None, quiet_since_ns=SOON)
    assert storage.is_loadable(version, now, now, quiet_since_ns=LONG_AGO)


def test_changing_folder_is_not_loadable(version):
    before = storage.take_snapshot(version)
    (version / "more").write_bytes(b"")
    now = storage.take_snapshot(version)
    assert not storage.is_loadable(version, now, before, quiet_since_ns=LONG_AGO)
    assert not storage.is_loadable(version, now, None, quiet_since_ns=LONG_AGO)


def test_folder_without_a_graph_is_not_loadable(tmp_path):
    now = storage.take_snapshot(tmp_path)
    assert not storage.is_loadable(tmp_path, now, now, quiet_since_ns=SOON)


def test_folder_with_a_manifest_is_loadable_at_once(version):
    (version / "kerasline.json").write_text("{}")
    now = storage.take_snapshot(version)
    assert storage.is_loadable(version, now, None, quiet_since_ns=LONG_AGO)
