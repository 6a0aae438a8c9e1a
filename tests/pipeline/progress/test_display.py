"""Checks what the two displays write."""

import io

import rich.console

from pipeline.progress import board, display

_EVENTS = (
    {"event": "engine_started"},
    {"event": "imports", "seconds": 9.0},
    {"event": "step_started", "step": "trainer"},
    {"event": "epoch", "step": "trainer", "epoch": 1, "num_epochs": 2, "metrics": {"loss": 0.5}},
    {"event": "step_finished", "step": "trainer", "seconds": 2.0},
    {"event": "step_finished", "step": "schema", "seconds": 0.0, "cached": True},
)


def _show(shown, state, events=_EVENTS):
    with shown:
        for event in events:
            step = state.apply(event)
            if step is not None:
                shown.changed(step, event)


def test_a_pipe_gets_a_line_per_start_end_and_epoch():
    stream, state = io.StringIO(), board.Board()
    _show(display.for_stream(state, stream), state)
    assert stream.getvalue().splitlines() == [
        "Start TensorFlow ...",
        "Start TensorFlow: done in 9.0 s",
        "Train the model ...",
        "Train the model: epoch 1 of 2, loss 0.5000",
        "Train the model: done in 2.0 s, epoch 1 of 2, loss 0.5000",
        "Derive the schema: cached in 0.0 s, unchanged, taken from the cache",
    ]


def test_news_of_a_step_that_was_ready_prints_nothing():
    stream, state = io.StringIO(), board.Board()
    events = [
        {"event": "step_started", "step": "ingest"},
        {"event": "prefetched", "step": "ingest", "seconds": 1.0},
        {"event": "step_started", "step": "ingest"},
        {"event": "rows", "step": "ingest", "rows": 5},
        {"event": "step_finished", "step": "ingest", "seconds": 0.5},
    ]
    _show(display.for_stream(state, stream), state, events)
    assert stream.getvalue().splitlines() == ["Read the data ...", "Read the data: done in 1.0 s"]


def test_a_narrow_encoding_does_not_stop_the_run():
    binary, state = io.BytesIO(), board.Board()
    stream = io.TextIOWrapper(binary, encoding="ascii")
    event = {"event": "step_failed", "step": "trainer", "sentence": "é"}
    message = {"event": "message", "step": "trainer", "text": "é"}
    _show(display.PlainDisplay(state, stream), state, [_EVENTS[2], message, event])
    assert b"failed in 0.0 s, ?" in binary.getvalue()


def _terminal(encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    return rich.console.Console(file=stream, force_terminal=True, width=80), stream


def test_a_terminal_gets_a_table_with_every_started_step():
    console, stream = _terminal("utf-8")
    state = board.Board()
    _show(display.LiveDisplay(state, console), state)
    stream.flush()
    text = stream.buffer.getvalue().decode()
    assert "✓" in text
    assert "Train the model" in text
    assert "steps to go" in text


def test_a_terminal_without_unicode_gets_plain_marks():
    console, stream = _terminal("ascii")
    state = board.Board()
    _show(display.LiveDisplay(state, console), state)
    stream.flush()
    assert b"+\x1b[0m Train the model" in stream.buffer.getvalue()


def test_a_stream_that_is_no_terminal_gets_plain_lines():
    assert isinstance(display.for_stream(board.Board(), io.StringIO()), display.PlainDisplay)
