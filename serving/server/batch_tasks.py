"""A request that waits for its batch, how it gets its part, and the timer for all deadlines."""

import asyncio
import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from serving.server import errors, signature

Arrays = dict[str, np.ndarray]
# Makes the answers to requests of one batch from its outputs. It is told how many rows each request
# has, or None for outputs that are one request's.
Render = Callable[[Mapping[str, np.ndarray], Sequence[int] | None], list[bytes]]


@dataclasses.dataclass(eq=False, slots=True)
class Task:
    """One request that waits for its rows' outputs."""

    signature_name: str
    inputs: Mapping[str, np.ndarray]
    num_rows: int
    deadline: float  # On `time.monotonic`'s clock, seconds.
    future: asyncio.Future
    loop: asyncio.AbstractEventLoop
    render: Render | None = None  # None: the result is arrays, else bytes.
    result: Arrays | bytes | errors.ServingError | None = None

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


def split(batch: Sequence[Task], outputs: Arrays, num_rows: int) -> None:
    """Gives each request of a batch its part of the outputs.

    Args:
        batch: The requests, in the order of their rows.
        outputs: Of all of them, and perhaps of padding after them.
        num_rows: Of the outputs.

    Raises:
        ServingError: FAILED_PRECONDITION if an output has another number of rows.
    """
    for name, array in outputs.items():
        if array.ndim == 0 or len(array) != num_rows:
            raise errors.ServingError(
                errors.Code.FAILED_PRECONDITION,
                f'Output "{name}" of a batch of {num_rows} rows must have as many. '
                f"Received: shape={signature.format_shape(array.shape)}.",
            )
    start = 0
    for render, group in itertools.groupby(batch, key=lambda task: task.render):
        tasks = list(group)
        nums_rows = [task.num_rows for task in tasks]
        if render is None:
            parts: Sequence[Arrays | bytes] = _slices(outputs, start, nums_rows)
        else:
            (joined,) = _slices(outputs, start, [sum(nums_rows)])
            parts = render(joined, nums_rows)
        for task, part in zip(tasks, parts, strict=True):
            task.result = part
        start += sum(nums_rows)


def give_all(task: Task, outputs: Arrays) -> None:
    """Gives the only request of a batch all of the outputs."""
    task.result = outputs if task.render is None else task.render(outputs, None)[0]


def deliver(batch: Sequence[Task]) -> None:
    """Wakes each event loop once for the whole batch."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Task]] = {}
    for task in batch:
        by_loop.setdefault(task.loop, []).append(task)
    for loop, tasks in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, tasks)


def _resolve(tasks: Sequence[Task]) -> None:
    for task in tasks:
        task.resolve()


def _slices(outputs: Arrays, start: int, nums_rows: Sequence[int]) -> list[Arrays]:
    parts = []
    for num_rows in nums_rows:
        stop = start + num_rows
        parts.append({name: array[start:stop] for name, array in outputs.items()})
        start = stop
    return parts


class Deadlines:
    """Expires tasks at their deadlines, with one timer: the event loop of a request sets none.

    A timer for each request takes 5 us to set and to cancel.
    """

    def __init__(self) -> None:
        self._tasks: set[Task] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._earliest = math.inf  # What the timer is set for.

    def add(self, task: Task) -> None:
        """Watches a task."""
        self._tasks.add(task)
        if self._timer is None or task.deadline < self._earliest:
            self._set(task.loop, task.deadline)

    def discard(self, task: Task) -> None:
        """Forgets a task that has its answer."""
        self._tasks.discard(task)
        if not self._tasks and self._timer is not None:
            # An idle batcher must not be kept in memory by a deadline of days.
            self._timer.cancel()
            self._timer = None

    def _set(self, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._earliest = deadline
        self._timer = loop.call_later(deadline - time.monotonic(), self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = time.monotonic()
        for task in self._tasks:
            if task.deadline <= now:
                task.expire()
        waiting = [task.deadline for task in self._tasks if not task.future.done()]
        if waiting:
            self._set(loop, min(waiting))
