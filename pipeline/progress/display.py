"""Draws a board: live on a terminal, line by line elsewhere."""

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol, Self, TextIO

import rich.console
import rich.live
import rich.spinner
import rich.table
import rich.text

from pipeline.progress.board import Board, Line
from pipeline.state import steps

_MARKS = {
    "done": ("✓", "green"),
    "cached": ("✓", "cyan"),
    "refused": ("✗", "red"),
    "failed": ("✗", "red"),
    "stopped": ("-", "yellow"),
}
_WORDS = {"cached": "unchanged, taken from the cache", "stopped": "stopped"}
_ENDINGS = (
    "imports",
    "prefetched",
    "prefetch_failed",
    "step_finished",
    "step_failed",
    "gate_refused",
)
_REDRAWS_PER_SECOND = 5
_MAX_WIDTH = 110
_TITLE_WIDTH = max(len(step.title) for step in steps.STEPS)


class Display(Protocol):
    """Shows a board until the context ends."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def changed(self, step: str, event: Mapping[str, Any]) -> None:
        """Is told that an event changed the line of a step."""


def for_stream(board: Board, stream: TextIO | None = None) -> Display:
    """Chooses the display that suits a stream, standard error by default."""
    console = rich.console.Console(file=stream or sys.stderr, highlight=False)
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveDisplay(board, console)
    return PlainDisplay(board, stream or sys.stderr)


class LiveDisplay:
    """A table that is redrawn in place, for terminals."""

    def __init__(self, board: Board, console: rich.console.Console):
        self.board = board
        self.spinner = rich.spinner.Spinner("dots" if _draws_unicode(console) else "line")
        self.live = rich.live.Live(
            self,
            console=console,
            refresh_per_second=_REDRAWS_PER_SECOND,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.marks = {
            status: (mark if _draws_unicode(console) else "x" if mark == "✗" else "+", colour)
            for status, (mark, colour) in _MARKS.items()
        }

    def __enter__(self) -> Self:
        self.live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.live.__exit__(kind, error, trace)

    def changed(self, step: str, event: Mapping[str, Any]) -> None:
        """Does nothing: the table is redrawn a few times a second anyway."""

    def __rich__(self) -> rich.table.Table:
        """The table as it stands."""
        # As wide as the terminal at most, and no wider than the eye follows a line.
        table = rich.table.Table.grid(padding=(0, 1), expand=True)
        table.width = min(self.live.console.width, _MAX_WIDTH)
        table.add_column(width=1)
        table.add_column(no_wrap=True, min_width=_TITLE_WIDTH)
        table.add_column(ratio=1, overflow="ellipsis", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        for line in list(self.board.lines.values()):
            table.add_row(*self._cells(line))
        started = sum(name in steps.BY_NAME for name in self.board.lines)
        num_left = self.board.num_steps - started
        if started > 0 and num_left > 0 and not self.board.sentence:
            table.add_row("", rich.text.Text(f"{num_left} steps to go", "dim"))
        return table

    def _cells(self, line: Line) -> tuple[Any, Any, Any, str]:
        if line.status == "running":
            seconds = self.board.clock() - line.started
            return self.spinner, line.title, line.detail, f"{seconds:.0f} s"
        mark, colour = self.marks[line.status]
        return (
            rich.text.Text(mark, colour),
            line.title,
            rich.text.Text(_ending(line), "dim"),
            f"{line.seconds or 0.0:.1f} s",
        )


class PlainDisplay:
    """One line when a step starts and when it ends, and one per epoch, for logs and pipes."""

    def __init__(self, board: Board, stream: TextIO):
        self.board = board
        self.stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def changed(self, step: str, event: Mapping[str, Any]) -> None:
        """Prints the line if the event is a start, an end or an epoch."""
        line = self.board.lines[step]
        kind = event.get("event")
        if kind in _ENDINGS:
            ending = f", {_ending(line)}" if _ending(line) else ""
            self._print(f"{line.title}: {line.status} in {line.seconds or 0.0:.1f} s{ending}")
        elif kind in ("step_started", "engine_started"):
            self._print(f"{line.title} ...")
        elif kind == "epoch":
            self._print(f"{line.title}: {line.detail}")

    def _print(self, text: str) -> None:
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        text = text.encode(encoding, "replace").decode(encoding)
        print(text, file=self.stream, flush=True)


def _ending(line: Line) -> str:
    return _WORDS.get(line.status, line.detail)


def _draws_unicode(console: rich.console.Console) -> bool:
    return console.encoding.lower().startswith("utf")
