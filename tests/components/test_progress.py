"""Events reach the listener of this process and the descriptor of another one."""

import json
import os

import pytest

from components import progress


@pytest.fixture
def heard(monkeypatch):
    events = []
    monkeypatch.setattr(progress, "_listeners", [])
    progress.listen(events.append)
    return events


def test_a_listener_gets_the_fields_with_the_name(heard):
    progress.report("rows", step="ingest", rows=3)
    assert heard == [{"event": "rows", "step": "ingest", "rows": 3}]


def test_a_descriptor_gets_one_json_line(monkeypatch):
    read_end, write_end = os.pipe()
    monkeypatch.setenv("KERASLINE_PROGRESS_FD", str(write_end))
    progress.report("rows", step="ingest", rows=3)
    os.close(write_end)
    with open(read_end) as stream:
        assert json.loads(stream.read()) == {"event": "rows", "step": "ingest", "rows": 3}


def test_a_listener_that_has_gone_does_not_stop_the_step(monkeypatch):
    read_end, write_end = os.pipe()
    os.close(read_end)
    monkeypatch.setenv("KERASLINE_PROGRESS_FD", str(write_end))
    progress.report("message", step="ingest", text="hello")
    os.close(write_end)
