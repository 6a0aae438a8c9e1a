"""What later steps need starts early, and once."""

import threading

import pytest

from components.model_check import server
from pipeline.engine import overlap


@pytest.fixture
def started(monkeypatch):
    """Names of what was started: real threads and processes are left out."""
    names = []
    monkeypatch.setattr(server, "start_ahead", lambda: names.append("model check"))
    monkeypatch.setattr(
        overlap, "_import", lambda modules: names.append(f"imports of {modules[0].split('.')[0]}")
    )
    return names


def _send(*events):
    earlier = set(threading.enumerate())
    for event in events:
        overlap.on_event(event)
    for thread in set(threading.enumerate()) - earlier:
        thread.join(timeout=5)


def test_imports_start_with_the_training(started):
    _send({"event": "step_started", "step": "ingest"})
    assert started == []
    _send({"event": "step_started", "step": "trainer"})
    assert started == ["imports of tensorflow_model_analysis"]


def test_the_simple_learner_is_imported_after_the_transform_that_it_needs(started):
    _send({"event": "step_finished", "step": "transform"})
    assert started == ["imports of sklearn"]


def test_the_model_check_starts_after_the_last_epoch(started):
    _send({"event": "epoch", "step": "trainer", "epoch": 1, "num_epochs": 2})
    assert started == []
    _send({"event": "epoch", "step": "trainer", "epoch": 2, "num_epochs": 2})
    assert started == ["model check"]


def test_without_a_last_epoch_it_starts_with_the_evaluator(started):
    _send({"event": "step_started", "step": "evaluator"})
    assert started == ["model check"]
