"""Ingest: any source into sharded TFRecords of tf.Examples, under a digest of what went in.

Nothing here imports TensorFlow, and memory does not grow with the data.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from components.ingest import (
    atomic,
    checks,
    digest,
    fingerprint,
    resolve,
    spans,
    splits,
    workers,
    writer,
)
from components.ingest.config import DataConfig
from components.ingest.manifest import FORMAT_VERSION, MANIFEST_FILE, Manifest, Shard, Span, Split
from components.ingest.sources.base import Reject, Source, TimedSource
from components.ingest.spans import WrittenSpan

REJECTS_FILE = "rejects.jsonl"

# Raise this when the same source would be written as other bytes.
_WRITER_VERSION = 7
_LOCATION_KEYS = frozenset(
    {"data_dir", "spans"}
    | {
        f"{split}{kind}"
        for split in ("", "validation_", "test_")
        for kind in ("path", "labels_path")
    }
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dataset:
    """An ingested dataset: `path` holds one folder `Split-<name>` per split and the manifest."""

    path: Path
    digest: str
    manifest: Manifest


def ingest(
    data: DataConfig, *, seed: int, cache_dir: Path, processes: workers.Processes | None = None
) -> Dataset:
    """Returns the dataset that `data` describes, writing it unless the cache holds it already.

    Two processes may do this at once: the second waits and finds what the first has written. A
    dataset appears whole or not at all, whatever interrupts it.

    Args:
        data: The `[data]` block of a recipe.
        seed: The recipe's seed, which decides the splits.
        cache_dir: Where downloads and datasets are kept.
        processes: Who writes; the processes of this machine by default. The bytes are the same.

    Raises:
        DataError: If the source is missing, damaged or contradicts the recipe, a split or a class
            in a split is empty, too many rows are rejected, or `cache_dir` cannot be written.
    """
    source = resolve.open_source(data, cache_dir)
    return ingest_source(source, data, seed=seed, cache_dir=cache_dir, processes=processes)


def ingest_source(
    source: Source,
    data: DataConfig,
    *,
    seed: int,
    cache_dir: Path,
    processes: workers.Processes | None = None,
) -> Dataset:
    """Does what `ingest` does with a source that is already open."""
    checks.check_splits(data, source.given_splits)
    # A dataset of another version lies under another name, and is left alone.
    versions = [_WRITER_VERSION, FORMAT_VERSION]
    settings = _digest([*versions, _settings(data), seed, sorted(source.given_splits)])
    name = _digest([settings, digest.files_digest(source.files(), cache_dir)])
    final = cache_dir / "datasets" / name
    if not final.exists():
        # One lock for all datasets of these settings, since they share their spans.
        with atomic.exclusive(cache_dir / "datasets" / f"{settings}.lock"):
            if not final.exists():
                written = spans.written(
                    spans.cut(source, data),
                    folder=cache_dir / spans.FOLDER / settings,
                    cache_dir=cache_dir,
                    plan_of=functools.partial(_plan, source, data, seed),
                    processes=processes or workers.LocalProcesses(),
                )
                _join(written, data, origin=source.origin, final=final)
    manifest = Manifest.read(final)
    return Dataset(path=final, digest=manifest.digest, manifest=manifest)


def _settings(data: DataConfig) -> dict[str, Any]:
    """Returns what decides the bytes besides the source's; where that lies is not part of it."""
    values = data.to_dict()
    values["source"] = {
        key: value for key, value in values["source"].items() if key not in _LOCATION_KEYS
    }
    return values


def _digest(values: list[Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:32]


def _plan(
    source: Source, data: DataConfig, seed: int, *, folder: Path, num_shards: int
) -> writer.WritePlan:
    return writer.WritePlan(
        folder=folder,
        class_names=data.class_names,
        layout=fingerprint.Layout.of(data),
        rule=_split_rule(source, data, seed),
        num_shards=num_shards,
        max_rejects=0 if data.rejects.max_share == 0 else None,
    )


def _split_rule(source: Source, data: DataConfig, seed: int) -> splits.SplitRule:
    shares = splits.split_shares(data.splits, given=source.given_splits)
    if data.series:
        # Its windows come with their splits.
        return splits.SplitRule(seed=seed, shares={})
    starts = None
    if data.splits.by == "time":
        starts = splits.time_starts(cast(TimedSource, source).times(), shares)
    return splits.SplitRule(
        seed=seed, shares=shares, folds=data.splits.folds, fold=data.splits.fold, starts=starts
    )


def _join(written: Sequence[WrittenSpan], data: DataConfig, *, origin: str, final: Path) -> None:
    """Makes a dataset of spans, whose shards get further names and are not copied.

    Raises:
        DataError: If too many rows were rejected, or a split or a class in it is empty.
    """
    rejects = sorted(reject for span in written for reject in span.rejects)
    with atomic.new_folder(final) as folder:
        (folder / fingerprint.FOLDER).mkdir()
        fingerprint.Layout.of(data).write(folder)
        manifest = Manifest(
            origin=origin,
            splits={name: _join_split(folder, name, written, data) for name in splits.SPLITS},
            spans=tuple(
                Span(files=span.files, num_rows=span.num_rows, num_rejects=len(span.rejects))
                for span in written
            ),
        )
        checks.check_rejects(data, manifest, rejects)
        checks.check_classes(data, manifest)
        if rejects:
            _write_rejects(folder, rejects)
        (folder / MANIFEST_FILE).write_text(manifest.to_json())


def _join_split(folder: Path, name: str, written: Sequence[WrittenSpan], data: DataConfig) -> Split:
    (folder / f"Split-{name}").mkdir()
    found = [
        (number, shard)
        for number, span in enumerate(written)
        for shard in span.shards
        if shard.split == name
    ]
    shards = []
    for index, (number, shard) in enumerate(found):
        path = f"Split-{name}/data_tfrecord-{index:05d}-of-{len(found):05d}"
        atomic.link_or_copy(shard.path, folder / path)
        atomic.link_or_copy(
            shard.path.with_suffix(writer.FINGERPRINTS_SUFFIX),
            folder / fingerprint.FOLDER / f"{name}-{index:05d}",
        )
        shards.append(
            Shard(
                path=path,
                num_rows=shard.num_rows,
                num_bytes=shard.num_bytes,
                sha256=shard.sha256,
                span=number,
            )
        )
    counts = {
        class_name: sum(shard.class_counts.get(index, 0) for _, shard in found)
        for index, class_name in enumerate(data.class_names)
    }
    return Split(shards=tuple(shards), class_counts=counts)


def _write_rejects(folder: Path, rejects: Sequence[Reject]) -> None:
    lines = (json.dumps(reject._asdict()) + "\n" for reject in rejects)
    (folder / REJECTS_FILE).write_text("".join(lines))
