"""A request that waits for its batch, and the one timer for the deadlines of all that wait."""

import asyncio
import dataclasses
import time
from collections.abc import Mapping

import numpy as np

from serving.server import errors


@dataclasses.dataclass(eq=False, slots=True)
class Task:
    """One request that waits for its rows' outputs."""

    signature_name: str
    inputs: Mapping[str, np.ndarray]
    num_rows: int
    deadline: float  # On `time.monotonic`'s clock, seconds.
    future: asyncio.Future
    loop: asyncio.AbstractEventLoop
    result: dict[str, np.ndarray] | errors.ServingError | None = None

    def resolve(self) -> None:
        """Gives the result to the coroutine that waits; called on its loop."""
        if self.future.done():
            return
        if self.result is None:
            self.expire()
        elif isinstance(self.result, errors.ServingError):
            self.future.set_exception(self.result)
        else:
            self.future.set_result(self.result)

    def expire(self) -> None:
        """Tells the coroutine that waits that it is too late; called on its loop."""
        if not self.future.done():
            self.future.set_exception(
                errors.ServingError(errors.Code.DEADLINE_EXCEEDED, "Deadline exceeded.")
            )


class Deadlines:
    """Expires tasks at their deadlines, with one timer: the event loop of a request sets none.

    A timer for each request takes 5 us to set and to cancel.
    """

    def __init__(self) -> None:
        self._tasks: set[Task] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, task: Task) -> None:
        """Watches a task."""
        self._tasks.add(task)
        rings_at = task.loop.time() + task.deadline - time.monotonic()
        if self._timer is None or rings_at < self._timer.when():
            self._set(task.loop, rings_at)

    def discard(self, task: Task) -> None:
        """Forgets a task that has its answer."""
        self._tasks.discard(task)
        if not self._tasks and self._timer is not None:
            # An idle batcher must not be kept in memory by a deadline of days.
            self._timer.cancel()
            self._timer = None

    def _set(self, loop: asyncio.AbstractEventLoop, rings_at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(rings_at, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = time.monotonic()
        for task in self._tasks:
            if task.deadline <= now:
                task.expire()
        waiting = [task.deadline for task in self._tasks if not task.future.done()]
        if waiting:
            self._set(loop, loop.time() + min(waiting) - now)
