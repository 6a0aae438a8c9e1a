"""Spreads blocks over processes, in an order that does not depend on how many there are."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from components import progress
from components.ingest.errors import DataError
from components.ingest.sources.base import Block, Source
from components.ingest.writer import ShardWriter, WritePlan, WriteResult

# Below this, starting processes costs more than it saves.
_MIN_PARALLEL_BYTES = 4 << 20
_REPORT_ROWS = 1000


class Job(NamedTuple):
    """What is to be written, and how."""

    plan: WritePlan
    source: Source


class Processes(Protocol):
    """Who writes: the processes of this machine, or those of a Beam runner."""

    @property
    def takes_all(self) -> bool:
        """True if all jobs should be given at once, False if one after another."""

    def write(self, jobs: Sequence[Job]) -> list[list[WriteResult]]:
        """Writes the shards of jobs and returns what was written for each.

        Raises:
            DataError: If a source or a row is bad.
        """


class LocalProcesses:
    """The processes of this machine."""

    # A job that is done stays done when the next one fails.
    takes_all = False

    def __init__(self) -> None:
        self._counter = RowCounter()

    def write(self, jobs: Sequence[Job]) -> list[list[WriteResult]]:
        """Writes one job after another, each with as many processes as are worth it."""
        results = []
        for plan, source in jobs:
            count = num_workers(source.num_bytes, num_shards=plan.num_shards)
            results.append(write_blocks(plan, source.blocks(), count=count, counter=self._counter))
        return results


def num_workers(num_bytes: int, *, num_shards: int) -> int:
    """Returns how many processes write, 1 meaning this one alone.

    Workers are forked, which is safe, and free of start-up cost, only in a process that has one
    thread; TensorFlow starts threads that Python does not count.
    """
    can_fork = (
        sys.platform == "linux"
        and threading.active_count() == 1
        and "tensorflow" not in sys.modules
    )
    if not can_fork or num_bytes < _MIN_PARALLEL_BYTES:
        return 1
    return min(len(os.sched_getaffinity(0)), num_shards)


def write_blocks(
    plan: WritePlan, blocks: Iterable[Block], *, count: int, counter: "RowCounter"
) -> list[WriteResult]:
    """Writes all blocks into the shards of `plan` with `count` processes.

    Raises:
        DataError: If the source or a row is bad; no process is left running.
    """
    if count == 1:
        return [_write_here(plan, blocks, counter)]
    return _Pool(plan, count, counter).write(blocks)


class RowCounter:
    """Reports the number of rows now and then."""

    def __init__(self) -> None:
        self._rows = self._reported = 0

    def add(self, num_rows: int) -> None:
        """Adds rows that were read."""
        self._rows += num_rows
        if self._rows - self._reported >= _REPORT_ROWS:
            self.report()

    def report(self) -> None:
        """Tells the number now."""
        self._reported = self._rows
        progress.report("rows", step="ingest", rows=self._rows)


def _write_here(plan: WritePlan, blocks: Iterable[Block], counter: RowCounter) -> WriteResult:
    writer = ShardWriter(plan)
    for number, block in enumerate(blocks):
        counter.add(writer.write(number, block))
    counter.report()
    return writer.close()


class _Pool:
    """Forked workers, each fed through a pipe, which also holds back a reader that is too fast."""

    def __init__(self, plan: WritePlan, count: int, counter: RowCounter):
        context = multiprocessing.get_context("fork")
        self._num_shards = plan.num_shards
        self._counter = counter
        self._results: dict[int, WriteResult] = {}
        self._pipes: list[multiprocessing.connection.Connection] = []
        self._processes: list[Any] = []
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(plan, theirs, ours), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def write(self, blocks: Iterable[Block]) -> list[WriteResult]:
        try:
            for number, block in enumerate(blocks):
                self._send(number % self._num_shards % len(self._pipes), (number, block))
            for index in range(len(self._pipes)):
                self._send(index, None)
            for index in range(len(self._pipes)):
                while index not in self._results:
                    self._receive(index)
            self._counter.report()
            return list(self._results.values())
        finally:
            self._stop()

    def _send(self, index: int, message: Any) -> None:
        pipe = self._pipes[index]
        try:
            pipe.send(message)
        except (BrokenPipeError, ConnectionResetError):
            # The worker has failed; what it said about that is still in the pipe.
            while True:
                self._receive(index)
        while index not in self._results and pipe.poll():
            self._receive(index)

    def _receive(self, index: int) -> None:
        try:
            answer = self._pipes[index].recv()
        except (EOFError, ConnectionResetError) as error:
            raise DataError(
                "Expected every ingest process to finish, but the system ended one, most likely "
                "for its memory. Free some memory and run again."
            ) from error
        if isinstance(answer, int):
            self._counter.add(answer)
        elif isinstance(answer, WriteResult):
            self._results[index] = answer
        else:
            raise answer

    def _stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join()
        for pipe in self._pipes:
            pipe.close()


def _work(plan: WritePlan, pipe: Any, parents_end: Any) -> None:
    # Ctrl-C reaches the whole process group; the parent decides what happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Without this the pipe would not end when the parent dies.
    parents_end.close()
    try:
        writer = ShardWriter(plan)
        while (message := pipe.recv()) is not None:
            pipe.send(writer.write(*message))
        pipe.send(writer.close())
    except (EOFError, BrokenPipeError):
        return
    except Exception as error:
        pipe.send(error)
