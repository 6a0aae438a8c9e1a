"""Checks the folders of a recipe and the refusals to work in them."""

import os
import shutil
import subprocess
import sys
import types

import pytest

from pipeline.state import workspace


@pytest.fixture
def place(tmp_path):
    place = workspace.Workspace(tmp_path, "digits")
    place.prepare()
    return place


def test_run_ids_differ():
    assert len({workspace.new_run_id() for _ in range(100)}) > 90


def test_preparing_leaves_an_empty_folder(place):
    assert list(place.folder.iterdir()) == []


def test_a_root_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    place = workspace.Workspace(tmp_path / "file", "digits")
    with pytest.raises(workspace.WorkspaceError, match=r"Cannot write to .*--root"):
        place.prepare()


def test_an_unwritable_root_is_refused(tmp_path, monkeypatch):
    def read_only(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(workspace.pathlib.Path, "write_bytes", read_only)
    with pytest.raises(workspace.WorkspaceError, match="Read-only file system"):
        workspace.Workspace(tmp_path, "digits").prepare()


def test_a_nearly_full_disk_is_refused(tmp_path, monkeypatch):
    usage = types.SimpleNamespace(free=100 * 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(workspace.WorkspaceError, match="100 MiB are free and a run needs 512 MiB"):
        workspace.Workspace(tmp_path, "digits").prepare()


def test_a_second_run_in_the_same_root_is_refused(place):
    program = (
        "from pipeline.state import workspace\n"
        f"place = workspace.Workspace({str(place.folder.parent)!r}, 'digits')\n"
        "try:\n"
        "    with place.lock(): print('locked')\n"
        "except workspace.WorkspaceError as error: print(error)\n"
    )
    with place.lock():
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
    assert f"Another run is at work in {place.folder} (process {os.getpid()})." in done.stdout


def test_the_lock_ends_with_its_context(place):
    with place.lock():
        pass
    with place.lock():
        pass


def test_runs_are_listed_newest_first(place):
    for name in ("20260101-000000-aaaa", "20260102-000000-aaaa"):
        (place.folder / name).mkdir()
        (place.folder / name / workspace.REQUEST_FILE_NAME).touch()
    assert [path.name for path in place.runs()] == ["20260102-000000-aaaa", "20260101-000000-aaaa"]


def test_without_a_readable_run_nothing_was_published(place):
    (place.folder / "r").mkdir()
    (place.folder / "r" / workspace.REQUEST_FILE_NAME).write_text("{")
    assert place.last_published() is None


def test_an_address_is_no_root_of_a_local_run():
    with pytest.raises(workspace.WorkspaceError, match=r"Received: root = gs://b/runs\. Name a fo"):
        workspace.check_is_folder("gs://b/runs")
