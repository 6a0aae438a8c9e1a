"""A published version is there as a whole or not at all."""

import os
import signal
import subprocess
import sys
import time

import pytest

from components.publisher import publish

_NUM_FILES = 40
_NUM_KILLS = 12


def _model(folder, content="a", num_files=2):
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_text(content)
    variables = folder / "variables"
    variables.mkdir()
    for number in range(num_files):
        (variables / f"part-{number}").write_text(content * 1000)
    (folder / "kerasline.json").write_text(f'{{"content": "{content}"}}')
    return folder


def _files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_first_version_is_1_and_holds_the_model(tmp_path):
    model = _model(tmp_path / "model")
    published = publish.publish(model, tmp_path / "published")
    assert (published.version, published.path) == (1, tmp_path / "published" / "1")
    assert _files(published.path) == _files(model)


def test_versions_increase_over_the_highest_there(tmp_path):
    (tmp_path / "published" / "41").mkdir(parents=True)
    published = publish.publish(_model(tmp_path / "model"), tmp_path / "published")
    assert published.version == 42
    assert publish.versions(tmp_path / "published") == [41, 42]


def test_the_same_model_is_not_published_twice(tmp_path):
    model = _model(tmp_path / "model")
    publish.publish(model, tmp_path / "published")
    again = publish.publish(model, tmp_path / "published")
    assert (again.version, again.is_new) == (1, False)
    assert publish.versions(tmp_path / "published") == [1]


def test_another_model_gets_a_version_of_its_own(tmp_path):
    publish.publish(_model(tmp_path / "a", "a"), tmp_path / "published")
    published = publish.publish(_model(tmp_path / "b", "b"), tmp_path / "published")
    assert (published.version, published.is_new) == (2, True)


def test_a_folder_without_a_saved_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"must hold a SavedModel\. Received: model_dir="):
        publish.publish(tmp_path, tmp_path / "published")
    assert not (tmp_path / "published").exists()


def test_an_address_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must be a folder.*Received: published_dir='gs://b/x'"):
        publish.publish(_model(tmp_path / "model"), "gs://b/x")


def test_names_that_are_no_numbers_are_no_versions(tmp_path):
    (tmp_path / ".7.abc.partial").mkdir()
    (tmp_path / "notes").mkdir()
    assert publish.versions(tmp_path) == []


def test_a_folder_that_is_not_there_has_no_versions(tmp_path):
    assert publish.versions(tmp_path / "absent") == []


def _start_publisher(model, published_dir):
    code = (
        "import sys; from components.publisher import publish; print('ready', flush=True); "
        "print(publish.publish(sys.argv[1], sys.argv[2]).version)"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(model), str(published_dir)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def test_publishers_at_work_at_once_get_different_versions(tmp_path):
    models = [_model(tmp_path / name, name) for name in "abcd"]
    publishers = [_start_publisher(model, tmp_path / "published") for model in models]
    numbers = sorted(int(process.communicate()[0].split()[-1]) for process in publishers)
    assert numbers == [1, 2, 3, 4]


def test_a_killed_publisher_leaves_no_half_version(tmp_path):
    model = _model(tmp_path / "model", num_files=_NUM_FILES)
    expected = _files(model)
    published_dir = tmp_path / "published"
    num_killed_early = 0
    for attempt in range(_NUM_KILLS):
        # Another manifest makes it another model, or nothing would be published.
        (model / "kerasline.json").write_text(f'{{"content": "{attempt}"}}')
        expected["kerasline.json"] = (model / "kerasline.json").read_bytes()
        before = publish.versions(published_dir)
        process = _start_publisher(model, published_dir)
        process.stdout.readline()
        # From right after the start to after the end.
        time.sleep(attempt * 0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        new = [number for number in publish.versions(published_dir) if number not in before]
        for number in new:
            assert _files(published_dir / str(number)) == expected
        num_killed_early += not new
    assert num_killed_early > 0
    (model / "kerasline.json").write_text('{"content": "last"}')
    publish.publish(model, published_dir)
    assert list(published_dir.glob(".*.partial")) == []
