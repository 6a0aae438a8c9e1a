"""Writes shards with the workers of an Apache Beam runner.

A task reads the files of a span and writes some of its shards, the same ones with any runner. The
workers write into the dataset's own folder, so that they must share the cache with this process.
"""

import contextlib
import dataclasses
import pickle
import shutil
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import apache_beam
from apache_beam.options import pipeline_options

from components.ingest.errors import DataError
from components.ingest.sources.base import Block
from components.ingest.workers import Job, RowCounter
from components.ingest.writer import FINGERPRINTS_SUFFIX, ShardWriter, WriteResult

# Every task of a span reads all of its files, so that more of them would read more than they write.
_MAX_TASKS_PER_SPAN = 16
_RESULT_FILE = "result.pickle"


@dataclasses.dataclass(frozen=True)
class Task:
    """The shards of one job whose number leaves the remainder `index` when divided by `count`."""

    job: Job
    index: int
    count: int

    @property
    def folder(self) -> Path:
        """Where its files are once all of them are written."""
        return self.job.plan.folder / f"task-{self.index:02d}"


class BeamProcesses:
    """The workers of a Beam runner, which all jobs are given to at once."""

    takes_all = True

    def __init__(self, options: Sequence[str]):
        self._options = list(options)

    def write(self, jobs: Sequence[Job]) -> list[list[WriteResult]]:
        """Writes the shards of all jobs in one Beam pipeline.

        Raises:
            DataError: If a source or a row is bad, or the workers do not share the cache.
        """
        tasks = [_tasks(job) for job in jobs]
        with apache_beam.Pipeline(
            options=pipeline_options.PipelineOptions(self._options)
        ) as pipeline:
            _ = (
                pipeline
                | "Tasks" >> apache_beam.Create([task for found in tasks for task in found])
                | "Spread" >> apache_beam.Reshuffle()
                | "Write" >> apache_beam.Map(run_task)
            )
        results = [[_collect(task) for task in found] for found in tasks]
        counter = RowCounter()
        counter.add(sum(shard.num_rows for found in results for r in found for shard in r.shards))
        counter.report()
        return results


def _tasks(job: Job) -> list[Task]:
    count = min(job.plan.num_shards, _MAX_TASKS_PER_SPAN)
    return [Task(job, index, count) for index in range(count)]


def run_task(task: Task) -> None:
    """Writes the shards of a task; a worker runs it, perhaps more than once.

    What it found, or the fault in the data, lies in the task's folder, which appears as a whole.
    """
    attempt = task.folder.with_name(f"{task.folder.name}.{uuid.uuid4().hex}")
    attempt.mkdir(parents=True)
    writer = ShardWriter(dataclasses.replace(task.job.plan, folder=attempt))
    found: WriteResult | DataError
    try:
        for number, block in _own_blocks(task):
            writer.write(number, block)
        found = writer.close()
    except DataError as error:
        # Beam would bury the sentence in its own, after trying again.
        found = error
    (attempt / _RESULT_FILE).write_bytes(pickle.dumps(found))
    with contextlib.suppress(OSError):
        attempt.rename(task.folder)
    # Still there only if another attempt was first.
    shutil.rmtree(attempt, ignore_errors=True)


def _own_blocks(task: Task) -> Iterator[tuple[int, Block]]:
    num_shards = task.job.plan.num_shards
    for number, block in enumerate(task.job.source.blocks()):
        if number % num_shards % task.count == task.index:
            yield number, block


def _collect(task: Task) -> WriteResult:
    """Moves the files of a task to where the job wants them."""
    try:
        found = pickle.loads((task.folder / _RESULT_FILE).read_bytes())
    except FileNotFoundError as error:
        raise DataError(
            f"Expected Beam's workers to write into {task.job.plan.folder}. Received: nothing, so "
            "that they have another disk. Set XDG_CACHE_HOME to a folder that they and this "
            "machine share, or leave the runner out of the Beam options."
        ) from error
    if isinstance(found, DataError):
        raise found
    result: WriteResult = found
    shards = []
    for shard in result.shards:
        path = task.job.plan.folder / shard.path.name
        for suffix in ("", FINGERPRINTS_SUFFIX):
            name = shard.path.name + suffix
            (task.folder / name).rename(path.with_name(name))
        shards.append(dataclasses.replace(shard, path=path))
    shutil.rmtree(task.folder)
    return dataclasses.replace(result, shards=shards)
