"""Joins the rows of waiting requests into one run of the graph, as soon as a worker is free.

While every worker is busy, requests gather; when one is free, it takes what has gathered. A request
that comes alone therefore runs at once. Where several come together, a free worker lets the event
loop read the rest of them first: a graph that starts with two rows takes the processor from the
loop that holds the other sixty.
"""

import asyncio
import bisect
import collections
import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from serving.server import backends, batch_arrays, batch_tasks, errors, signature

# Turns of the event loop without a new request after which those that came together are complete; a
# request takes up to three turns from the socket to here.
_QUIET_TURNS = 4
# Requests are gathered for no longer than this, however many come.
_MAX_GATHER_SECS = 0.005

_Run = Callable[[str, backends.Arrays], dict[str, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class BatchingOptions:
    """How requests are joined; the fields are TF Serving's batching parameters."""

    is_enabled: bool = True
    max_batch_size: int = 1_000  # Rows in one run.
    max_enqueued_batches: int = 1_000  # Full batches that may wait before requests are refused.
    num_batch_threads: int = 1
    # Sizes that a batch is padded up to, increasing; empty: any size.
    allowed_batch_sizes: tuple[int, ...] = ()
    pad_variable_length_inputs: bool = False


class Batcher:
    """Worker threads that run one loaded model for coroutines of an event loop.

    A failed batch is run again request by request, so that a bad request fails alone.
    """

    def __init__(
        self,
        run: _Run,
        options: BatchingOptions,
        *,
        name: str,
        on_run: Callable[[float, int], None] = lambda seconds, rows: None,
    ):
        """Starts the worker threads.

        Args:
            run: Runs a signature on joined inputs.
            options: Sizes and limits.
            name: Names the threads.
            on_run: Told the seconds and rows of each run of the graph; called on a worker.
        """
        self._run = run
        self._options = options
        self._on_run = on_run
        self._groups: collections.OrderedDict[tuple, collections.deque[batch_tasks.Task]] = (
            collections.OrderedDict()
        )
        self._deadlines = batch_tasks.Deadlines()
        self._num_waiting_rows = 0
        self._num_enqueued = 0
        self._is_gathering = False
        self._had_company = False  # Whether the last batch was of more than one request.
        self._is_closed = False
        self._condition = threading.Condition(threading.Lock())
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{index}", daemon=True)
            for index in range(options.num_batch_threads)
        ]
        for thread in self._threads:
            thread.start()

    async def submit(
        self, spec: signature.Signature, inputs: backends.Arrays, *, deadline: float
    ) -> dict[str, np.ndarray]:
        """Runs a signature on checked inputs, perhaps joined with others' rows.

        Args:
            spec: The signature.
            inputs: Checked arrays by name.
            deadline: When the answer is no longer wanted, on `time.monotonic`'s clock.

        Returns:
            Arrays by output name.

        Raises:
            ServingError: UNAVAILABLE if too many wait, INVALID_ARGUMENT if the request alone is
                larger
                than a batch, DEADLINE_EXCEEDED, or what the graph refuses.
        """
        return await self._result(spec, inputs, deadline, None)

    async def submit_rendered(
        self,
        spec: signature.Signature,
        inputs: backends.Arrays,
        render: batch_tasks.Render,
        *,
        deadline: float,
    ) -> bytes:
        """Is `submit` for an answer of bytes, which is made for all requests of a batch at once.

        Raises:
            ServingError: As `submit`, and what `render` raises.
        """
        return await self._result(spec, inputs, deadline, render)

    async def _result(
        self,
        spec: signature.Signature,
        inputs: backends.Arrays,
        deadline: float,
        render: batch_tasks.Render | None,
    ) -> Any:
        key, num_rows = self._group_of(spec, inputs)
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        task = batch_tasks.Task(spec.name, inputs, num_rows, deadline, future, loop, render)
        self._enqueue(key, task)
        self._deadlines.add(task)
        try:
            return await task.future
        finally:
            self._deadlines.discard(task)

    def close(self) -> None:
        """Finishes what waits, then ends the workers; blocks until they have ended."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
        for thread in self._threads:
            thread.join()

    def _group_of(self, spec: signature.Signature, inputs: backends.Arrays) -> tuple[tuple, int]:
        """Returns the key that joinable requests share, and the number of rows."""

        num_rows = _common_rows(inputs) if self._options.is_enabled and spec.is_batchable else 0
        if num_rows <= 0:
            return (spec.name, object()), 1
        if num_rows > self._options.max_batch_size:
            raise errors.invalid(
                f"Task size {num_rows} is larger than maximum input batch size "
                f"{self._options.max_batch_size}"
            )
        pads = self._options.pad_variable_length_inputs
        kinds = [(name, array.ndim if pads else array.shape[1:]) for name, array in inputs.items()]
        return (spec.name, *(kinds if len(kinds) == 1 else sorted(kinds))), num_rows

    def _enqueue(self, key: tuple, task: batch_tasks.Task) -> None:
        limit = self._options.max_batch_size * self._options.max_enqueued_batches
        with self._condition:
            if self._is_closed:
                raise errors.ServingError(errors.Code.UNAVAILABLE, "The model is being unloaded.")
            if self._num_waiting_rows + task.num_rows > limit:
                raise errors.ServingError(
                    errors.Code.UNAVAILABLE,
                    "The batch scheduling queue to which this task was submitted is full",
                )
            self._groups.setdefault(key, collections.deque()).append(task)
            self._num_waiting_rows += task.num_rows
            self._num_enqueued += 1
            if not self._had_company:
                self._condition.notify()
            elif not self._is_gathering:
                self._is_gathering = True
                until = task.loop.time() + _MAX_GATHER_SECS
                task.loop.call_soon(self._gather, task.loop, self._num_enqueued, 0, until)

    def _gather(
        self, loop: asyncio.AbstractEventLoop, num_seen: int, num_quiet: int, until: float
    ) -> None:
        """Runs once in each turn of the loop; wakes a worker when no more requests come."""
        num_quiet = num_quiet + 1 if self._num_enqueued == num_seen else 0
        is_full = self._num_waiting_rows >= self._options.max_batch_size
        if num_quiet < _QUIET_TURNS and not is_full and loop.time() < until:
            loop.call_soon(self._gather, loop, self._num_enqueued, num_quiet, until)
            return
        with self._condition:
            self._is_gathering = False
            self._condition.notify_all()

    def _work(self) -> None:
        while batch := self._take():
            now = time.monotonic()
            wanted = [task for task in batch if task.deadline > now and not task.future.done()]
            if wanted:
                self._run_batch(wanted)
            batch_tasks.deliver(batch)

    def _take(self) -> list[batch_tasks.Task]:
        """Waits for requests and takes one batch; an empty list: the batcher is closed."""
        with self._condition:
            while not self._groups or (self._is_gathering and not self._is_closed):
                if self._is_closed:
                    return []
                self._condition.wait()
            key, waiting = self._groups.popitem(last=False)
            batch = [waiting.popleft()]
            num_rows = batch[0].num_rows
            while waiting and num_rows + waiting[0].num_rows <= self._options.max_batch_size:
                batch.append(waiting.popleft())
                num_rows += batch[-1].num_rows
            if waiting:
                # To the back, so that one busy signature does not keep others waiting.
                self._groups[key] = waiting
            self._num_waiting_rows -= num_rows
            self._had_company = len(batch) > 1
            return batch

    def _run_batch(self, batch: list[batch_tasks.Task]) -> None:
        try:
            self._run_joined(batch)
        except errors.ServingError as error:
            if len(batch) == 1:
                batch[0].result = error
                return
            for task in batch:
                self._run_batch([task])
        except Exception as error:
            for task in batch:
                task.result = errors.ServingError(errors.Code.INTERNAL, repr(error))

    def _run_joined(self, batch: list[batch_tasks.Task]) -> None:
        num_rows = sum(task.num_rows for task in batch)
        padded_rows = self._padded_size(num_rows) if self._is_joinable(batch) else num_rows
        inputs = batch[0].inputs
        if len(batch) > 1 or padded_rows > num_rows:
            inputs = {
                name: batch_arrays.join([task.inputs[name] for task in batch], padded_rows)
                for name in batch[0].inputs
            }
        start = time.perf_counter()
        outputs = self._run(batch[0].signature_name, inputs)
        self._on_run(time.perf_counter() - start, num_rows)
        if len(batch) == 1 and padded_rows == num_rows:
            batch_tasks.give_all(batch[0], outputs)
        else:
            batch_tasks.split(batch, outputs, padded_rows)

    def _is_joinable(self, batch: list[batch_tasks.Task]) -> bool:
        return len(batch) > 1 or all(
            array.ndim and array.shape[0] == batch[0].num_rows for array in batch[0].inputs.values()
        )

    def _padded_size(self, num_rows: int) -> int:
        sizes = self._options.allowed_batch_sizes if self._options.is_enabled else ()
        index = bisect.bisect_left(sizes, num_rows)
        return sizes[index] if index < len(sizes) else num_rows


def _common_rows(inputs: backends.Arrays) -> int:
    """Returns the number of rows that all arrays have; -1 if they differ or one has none."""
    num_rows = -1
    for array in inputs.values():
        if not array.ndim or num_rows not in (-1, array.shape[0]):
            return -1
        num_rows = array.shape[0]
    return num_rows
