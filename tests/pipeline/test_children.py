"""Checks how child processes are started, heard and ended."""

import pytest

from pipeline import children


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts a module with the given text in a context of children."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def call(context, text):
        (tmp_path / "child_under_test.py").write_text(text)
        return context.start("child_under_test", tmp_path / "log")

    return call


_TELL = "import os\nfd = int(os.environ['KERASLINE_PROGRESS_FD'])\n"


def test_events_come_in_order_and_other_lines_are_passed_over(start):
    text = _TELL + 'os.write(fd, b\'{"event": "a"}\\nnoise\\n[1]\\n{"event": "b"}\\n\')\n'
    with children.Children() as context:
        child = start(context, text)
        assert [event["event"] for event in context.events(child)] == ["a", "b"]
    assert child.returncode == 0


def test_what_a_child_prints_goes_to_its_log(start, tmp_path):
    with children.Children() as context:
        child = start(context, "import sys\nprint('out')\nsys.exit('err')\n")
        assert list(context.events(child)) == []
    assert (tmp_path / "log").read_text() == "out\nerr\n"
    assert child.returncode == 1


def test_a_text_longer_than_a_pipe_holds_is_given_without_waiting(start):
    text = _TELL + 'import sys\nos.write(fd, b\'{"event": "%d"}\\n\' % len(sys.stdin.read()))\n'
    with children.Children() as context:
        child = start(context, text)
        children.give(child, "x" * 300_000)
        assert [event["event"] for event in context.events(child)] == ["300000"]


def test_giving_to_a_child_that_has_ended_is_no_error(start):
    with children.Children() as context:
        child = start(context, "")
        child.wait()
        children.give(child, "x" * 300_000)


def test_the_context_ends_what_still_runs(start):
    text = _TELL + 'import time\nos.write(fd, b\'{"event": "a"}\\n\')\ntime.sleep(600)\n'
    with children.Children() as context:
        child = start(context, text)
        next(context.events(child))
    assert child.returncode == -15


def test_modules_of_the_working_directory_are_not_imported(start, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here/json.py").write_text("raise SystemExit('wrong json')")
    monkeypatch.chdir(tmp_path / "here")
    with children.Children() as context:
        child = start(context, "import json\n")
        assert list(context.events(child)) == []
    assert child.returncode == 0
