"""The child processes of a run: starts them, reads their progress events, and ends them."""

import contextlib
import json
import os
import pathlib
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import IO, Any, Self

from components import child_process
from pipeline.state import source_code

# How long a child may take to save what it has after SIGTERM, before it is killed.
GRACE_SECS = 60.0
_POLL_SECS = 0.2


class Children:
    """Child processes that write progress events to one pipe, and end with this context.

    Each runs in a session of its own, so that Ctrl-C reaches only this process, which then ends
    them in order. The kernel kills them if this process dies.
    """

    def __init__(self) -> None:
        self._read_end, self._write_end = os.pipe()
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end()
        finally:
            os.close(self._read_end)
            if self._write_end >= 0:
                os.close(self._write_end)

    def start(self, module: str, log_path: pathlib.Path) -> subprocess.Popen[bytes]:
        """Starts `python -m module` with a pipe as standard input and its output in `log_path`.

        Args:
            module: Dotted name of a module of this project.
            log_path: Receives standard output and standard error.
        """
        environment = dict(os.environ)
        environment["KERASLINE_PROGRESS_FD"] = str(self._write_end)
        environment["PYTHONUNBUFFERED"] = "1"
        # The working directory may be anything, and may hold modules of the same names.
        environment["PYTHONPATH"] = os.pathsep.join(_search_path())
        environment["PYTHONSAFEPATH"] = "1"
        with log_path.open("ab") as log:
            child = child_process.start(
                [sys.executable, "-m", module],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=[self._write_end],
                start_new_session=True,
            )
        self._started.append(child)
        return child

    def events(self, engine: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
        """Yields progress events until `engine` has ended and all it wrote was read."""
        os.close(self._write_end)
        self._write_end = -1
        buffer = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._read_end, selectors.EVENT_READ)
            while True:
                # Asked before reading: what an ended process wrote is in the pipe already.
                ended = engine.poll() is not None
                if not selector.select(0 if ended else _POLL_SECS):
                    if ended:
                        return
                    continue
                chunk = os.read(self._read_end, 65536)
                if not chunk:
                    engine.wait()
                    return
                *lines, buffer = (buffer + chunk).split(b"\n")
                yield from _parse(lines)

    def end(self) -> None:
        """Sends SIGTERM to what still runs, waits, and kills the rest; Ctrl-C kills at once."""
        running = [child for child in self._started if child.poll() is None]
        try:
            for child in running:
                _signal_group(child, signal.SIGTERM)
            deadline = time.monotonic() + GRACE_SECS
            for child in running:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(max(0.0, deadline - time.monotonic()))
        finally:
            for child in self._started:
                # The group may hold processes that the child left behind.
                _signal_group(child, signal.SIGKILL)
                child.wait()


def give(child: subprocess.Popen[bytes], text: str) -> None:
    """Writes `text` to the child's standard input and closes it, without waiting for the reader.

    A child that has ended already is no error: its exit status tells.
    """
    # A pipe holds 64 KiB; a longer text would keep this process waiting until the child reads.
    threading.Thread(target=_write_and_close, args=(child.stdin, text), daemon=True).start()


def _write_and_close(stream: IO[bytes], text: str) -> None:
    with contextlib.suppress(BrokenPipeError), stream:
        stream.write(text.encode())


def _search_path() -> list[str]:
    given = os.environ.get("PYTHONPATH", "")
    return [str(source_code.PROJECT_DIR), *([given] if given else [])]


def _parse(lines: Sequence[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield event


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)
