"""Checks that events become the lines that displays show."""

import pytest

from pipeline.progress import board


class _Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return _Clock()


@pytest.fixture
def shown(clock):
    return board.Board(clock)


def test_a_started_step_runs(shown):
    assert shown.apply({"event": "step_started", "step": "trainer"}) == "trainer"
    assert shown.lines["trainer"].status == "running"


def test_a_finished_step_keeps_its_seconds(shown):
    shown.apply({"event": "step_started", "step": "trainer"})
    shown.apply({"event": "step_finished", "step": "trainer", "seconds": 2.5})
    assert (shown.lines["trainer"].status, shown.seconds()) == ("done", {"trainer": 2.5})


def test_a_cached_step_says_so(shown):
    shown.apply({"event": "step_finished", "step": "schema", "seconds": 0.1, "cached": True})
    assert shown.lines["schema"].status == "cached"


def test_ingest_started_ahead_counts_from_its_first_start(shown, clock):
    shown.apply({"event": "step_started", "step": "ingest"})
    clock.now += 5.0
    shown.apply({"event": "step_started", "step": "ingest"})
    assert shown.lines["ingest"].started == 100.0


def test_work_done_ahead_counts(shown):
    shown.apply({"event": "step_started", "step": "ingest"})
    shown.apply({"event": "prefetched", "step": "ingest", "seconds": 4.0})
    shown.apply({"event": "step_finished", "step": "ingest", "seconds": 0.5})
    assert shown.seconds() == {"ingest": 4.5}


def test_imports_are_a_line_but_no_step(shown):
    shown.apply({"event": "engine_started"})
    shown.apply({"event": "imports", "seconds": 9.0})
    assert shown.lines[board.IMPORTS].seconds == 9.0
    assert shown.seconds() == {}


def test_a_refusal_outlives_the_failure_that_wraps_it(shown):
    shown.apply({"event": "gate_refused", "step": "evaluation_gate", "sentence": "Too low."})
    shown.apply({"event": "step_failed", "step": "evaluation_gate", "sentence": "RuntimeError"})
    assert (shown.refused, shown.sentence) == (True, "Too low.")
    assert shown.lines["evaluation_gate"].status == "refused"


def test_the_first_failure_is_the_reason(shown):
    shown.apply({"event": "step_failed", "step": "ingest", "sentence": "The file is empty."})
    shown.apply({"event": "step_failed", "step": "trainer", "sentence": "No input."})
    assert shown.sentence == "The file is empty."


def test_what_still_runs_is_marked_as_stopped(shown, clock):
    shown.apply({"event": "step_started", "step": "trainer"})
    clock.now += 3.0
    shown.stop()
    assert (shown.lines["trainer"].status, shown.lines["trainer"].seconds) == ("stopped", 3.0)


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"event": "step_started", "step": "unheard_of"},
        {"event": "step_started", "step": 3},
        {"event": "rows", "step": "trainer", "rows": 5},
        {"event": "unheard_of", "step": "trainer"},
    ],
)
def test_an_unknown_event_changes_nothing(shown, event):
    assert shown.apply(event) is None
    assert shown.lines == {}


def test_the_result_is_kept(shown):
    shown.apply({"event": "result", "metrics": {"accuracy": 0.9}, "published_path": None})
    assert shown.result == {"metrics": {"accuracy": 0.9}, "published_path": None}
