"""SIGTERM as a request: the loop saves what it has and ends with status 143."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

# What a shell reports for a process that SIGTERM ended: 128 + 15.
EXIT_TERMINATED = 143


class TerminatedError(SystemExit):
    """Training ended because it was asked to; it exits with status 143 unless it is caught."""

    def __init__(self, global_step: int):
        super().__init__(EXIT_TERMINATED)
        self.global_step = global_step


class Termination:
    """Remembers that SIGTERM came.

    Args:
        save: Writes a checkpoint and waits until it is on disk.
    """

    def __init__(self, save: Callable[[], None]):
        self._save = save
        self._is_requested = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Listens to SIGTERM in the body; only the main thread of a process can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGTERM, self._request)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)

    def check(self, global_step: int) -> None:
        """Saves and ends the run if SIGTERM came.

        Raises:
            TerminatedError: If it came.
        """
        if self._is_requested:
            self._save()
            raise TerminatedError(global_step)

    def _request(self, number: int, frame: FrameType | None) -> None:
        self._is_requested = True
