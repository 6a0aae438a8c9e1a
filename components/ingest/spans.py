"""Spans: files of a source that are written together and, while they stay the same, never again.

What is written of a span depends on its files, the recipe and the seed alone. When the data grows,
the spans that were there are taken from the cache, and the whole is bit for bit what reading
everything would have given.
"""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from components import progress
from components.ingest import atomic, digest, splits
from components.ingest.config import DataConfig
from components.ingest.sources import file_source
from components.ingest.sources.base import Reject, Source
from components.ingest.sources.files import SourceFile
from components.ingest.workers import Job, Processes
from components.ingest.writer import WritePlan, WriteResult, WrittenShard

FOLDER = "spans"

_SPAN_FILE = "span.json"
_SHARD_BYTES = 100 << 20
_MIN_SHARDS = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class WrittenSpan:
    """What the cache holds of a span; the shards lie in its folder, as their writers named them."""

    files: tuple[str, ...]
    shards: tuple[WrittenShard, ...]
    rejects: tuple[Reject, ...]

    @property
    def num_rows(self) -> int:
        """Rows over all shards."""
        return sum(shard.num_rows for shard in self.shards)

    @classmethod
    def of(cls, source: Source, results: Iterable[WriteResult]) -> "WrittenSpan":
        """Returns what several workers wrote, in an order that does not depend on them."""
        results = list(results)
        shards = (shard for result in results for shard in result.shards)
        return cls(
            files=tuple(source.files()),
            shards=tuple(sorted(shards, key=lambda shard: (shard.split, shard.index))),
            rejects=tuple(sorted(reject for result in results for reject in result.rejects)),
        )

    def write(self, folder: Path) -> None:
        """Writes what `read` reads."""
        shards = [{**dataclasses.asdict(shard), "path": shard.path.name} for shard in self.shards]
        values = {
            "files": self.files,
            "shards": shards,
            "rejects": [reject._asdict() for reject in self.rejects],
        }
        (folder / _SPAN_FILE).write_text(json.dumps(values))

    @classmethod
    def read(cls, folder: Path) -> "WrittenSpan":
        """Reads what the cache holds in `folder`."""
        values = json.loads((folder / _SPAN_FILE).read_text())
        shards = []
        for shard in values["shards"]:
            # JSON has no numbers as names.
            counts = {int(index): count for index, count in shard["class_counts"].items()}
            path = folder / shard["path"]
            shards.append(WrittenShard(**{**shard, "path": path, "class_counts": counts}))
        return cls(
            files=tuple(values["files"]),
            shards=tuple(shards),
            rejects=tuple(Reject(**reject) for reject in values["rejects"]),
        )


def cut(source: Source, data: DataConfig) -> list[Source]:
    """Returns the spans of a source, each a source of some of its files.

    A file whose examples fill a shard is a span. Smaller ones that follow each other share one, up
    to as many shards as a span has at least, and if the recipe names their spans, they are of one.
    Only files of rows are cut, and not if the borders
    between the splits move with the data.
    """
    if not isinstance(source, file_source.FileSource) or data.splits.by == "time":
        return [source]
    return [
        dataclasses.replace(source, split_files={split: group})
        for split, found in source.split_files.items()
        for group in _groups(source, found)
    ]


def _groups(
    source: file_source.FileSource, found: Iterable[SourceFile]
) -> Iterator[list[SourceFile]]:
    group: list[SourceFile] = []
    group_bytes = 0
    for file in found:
        size = dataclasses.replace(source, split_files={splits.TRAIN: [file]}).num_bytes
        is_large = size >= _SHARD_BYTES
        # So that a span that is no longer chosen takes nothing with it.
        is_other = bool(group) and group[-1].span != file.span
        if group and (is_large or is_other or group_bytes + size > _MIN_SHARDS * _SHARD_BYTES):
            yield group
            group, group_bytes = [], 0
        if is_large:
            yield [file]
            continue
        group.append(file)
        group_bytes += size
    if group:
        yield group


def written(
    spans: Sequence[Source],
    *,
    folder: Path,
    cache_dir: Path,
    plan_of: Callable[..., WritePlan],
    processes: Processes,
) -> list[WrittenSpan]:
    """Returns what is written of each span, after writing those that the cache does not hold.

    The caller holds a lock for `folder`.

    Args:
        spans: The spans of a source, from `cut`.
        folder: Where spans of this recipe are kept, each under the digest of its files.
        cache_dir: Where the digests of files are kept.
        plan_of: Makes the plan by which a span is written, given its `folder` and `num_shards`.
        processes: Who writes.

    Raises:
        DataError: If a source or a row is bad, or `folder` cannot be written.
    """
    folders = {folder / digest.files_digest(span.files(), cache_dir)[:32]: span for span in spans}
    missing = {path: span for path, span in folders.items() if not path.exists()}
    if missing:
        if len(missing) < len(folders):
            _tell_what_is_kept(folders, missing)
        batches = [missing] if processes.takes_all else [{p: s} for p, s in missing.items()]
        for batch in batches:
            _write(batch, plan_of, processes)
    return [WrittenSpan.read(path) for path in folders]


def _tell_what_is_kept(folders: Mapping[Path, Source], missing: Mapping[Path, Source]) -> None:
    total, read = (
        sum(len(span.files()) for span in found.values()) for found in (folders, missing)
    )
    text = f"{read} of {total} files are read, the others were read before"
    progress.report("message", step="ingest", text=text)


def _write(
    batch: Mapping[Path, Source], plan_of: Callable[..., WritePlan], processes: Processes
) -> None:
    with contextlib.ExitStack() as stack:
        jobs = []
        for path, span in batch.items():
            part = stack.enter_context(atomic.new_folder(path))
            # Checked before the folder gets its name.
            stack.enter_context(digest.unchanged(span.files()))
            num_shards = max(_MIN_SHARDS, -(-span.num_bytes // _SHARD_BYTES))
            jobs.append(Job(plan_of(folder=part, num_shards=num_shards), span))
        for job, results in zip(jobs, processes.write(jobs), strict=True):
            WrittenSpan.of(job.source, results).write(job.plan.folder)
