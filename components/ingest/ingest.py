"""Ingest: any source into sharded TFRecords of tf.Examples, under a digest of what went in.

Nothing here imports TensorFlow, and memory does not grow with the data.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from components.ingest import (
    atomic,
    checks,
    digest,
    fingerprint,
    resolve,
    splits,
    workers,
    writer,
)
from components.ingest.config import DataConfig
from components.ingest.manifest import MANIFEST_FILE, Manifest, Shard, Split
from components.ingest.sources.base import Reject, Source, TimedSource

REJECTS_FILE = "rejects.jsonl"

# Raise this when the same source would be written as other bytes.
_WRITER_VERSION = 5
_SHARD_BYTES = 100 << 20
_MIN_SHARDS = 4
_LOCATION_KEYS = frozenset({"data_dir", "path", "validation_path", "test_path"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dataset:
    """An ingested dataset: `path` holds one folder `Split-<name>` per split and the manifest."""

    path: Path
    digest: str
    manifest: Manifest


def ingest(data: DataConfig, *, seed: int, cache_dir: Path) -> Dataset:
    """Returns the dataset that `data` describes, writing it unless the cache holds it already.

    Two processes may do this at once: the second waits and finds what the first has written. A
    dataset appears whole or not at all, whatever interrupts it.

    Args:
        data: The `[data]` block of a recipe.
        seed: The recipe's seed, which decides the splits.
        cache_dir: Where downloads and datasets are kept.

    Raises:
        DataError: If the source is missing, damaged or contradicts the recipe, a split or a class
            in a split is empty, too many rows are rejected, or `cache_dir` cannot be written.
    """
    source = resolve.open_source(data, cache_dir)
    return ingest_source(source, data, seed=seed, cache_dir=cache_dir)


def ingest_source(source: Source, data: DataConfig, *, seed: int, cache_dir: Path) -> Dataset:
    """Does what `ingest` does with a source that is already open."""
    checks.check_splits(data, source.given_splits)
    name = _input_digest(data, seed, digest.files_digest(source.files(), cache_dir))
    final = cache_dir / "datasets" / name
    if not final.exists():
        with atomic.exclusive(cache_dir / "datasets" / f"{name}.lock"):
            if not final.exists():
                _write(source, data, seed=seed, final=final)
    manifest = Manifest.read(final)
    return Dataset(path=final, digest=manifest.digest, manifest=manifest)


def _input_digest(data: DataConfig, seed: int, source_digest: str) -> str:
    """Returns a digest of all that decides the bytes; where the source lies is not part of it."""
    values = data.to_dict()
    values["source"] = {
        key: value for key, value in values["source"].items() if key not in _LOCATION_KEYS
    }
    text = json.dumps([_WRITER_VERSION, values, seed, source_digest], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _write(source: Source, data: DataConfig, *, seed: int, final: Path) -> None:
    num_shards = max(_MIN_SHARDS, -(-source.num_bytes // _SHARD_BYTES))
    with atomic.new_folder(final) as folder, digest.unchanged(source.files()):
        plan = writer.WritePlan(
            folder=folder,
            class_names=data.class_names,
            layout=fingerprint.Layout.of(data),
            rule=_split_rule(source, data, seed),
            num_shards=num_shards,
            max_rejects=0 if data.rejects.max_share == 0 else None,
        )
        count = workers.num_workers(source.num_bytes, num_shards=num_shards)
        results = workers.write_blocks(plan, source.blocks(), count=count)
        shards = [shard for result in results for shard in result.shards]
        rejects = sorted(reject for result in results for reject in result.rejects)
        manifest = _finish(folder, shards, rejects, data=data, origin=source.origin)
        checks.check_rejects(data, manifest, rejects)
        checks.check_classes(data, manifest)
        (folder / MANIFEST_FILE).write_text(manifest.to_json())


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


def _finish(
    folder: Path,
    shards: Iterable[writer.WrittenShard],
    rejects: list[Reject],
    *,
    data: DataConfig,
    origin: str,
) -> Manifest:
    """Moves the shards to their final names and writes the rejects."""
    by_split: dict[str, list[writer.WrittenShard]] = {name: [] for name in splits.SPLITS}
    for shard in sorted(shards, key=lambda shard: shard.index):
        by_split[shard.split].append(shard)
    if rejects:
        lines = (json.dumps(reject._asdict()) + "\n" for reject in rejects)
        (folder / REJECTS_FILE).write_text("".join(lines))
    (folder / fingerprint.FOLDER).mkdir()
    fingerprint.Layout.of(data).write(folder)
    return Manifest(
        origin=origin,
        splits={name: _finish_split(folder, name, by_split[name], data) for name in splits.SPLITS},
        num_rejects=len(rejects),
    )


def _finish_split(
    folder: Path, name: str, written: list[writer.WrittenShard], data: DataConfig
) -> Split:
    (folder / f"Split-{name}").mkdir()
    shards = []
    for number, shard in enumerate(written):
        path = f"Split-{name}/data_tfrecord-{number:05d}-of-{len(written):05d}"
        fingerprints = shard.path.with_suffix(writer.FINGERPRINTS_SUFFIX)
        fingerprints.rename(folder / fingerprint.FOLDER / f"{name}-{number:05d}")
        shard.path.rename(folder / path)
        shards.append(
            Shard(
                path=path,
                num_rows=shard.num_rows,
                num_bytes=shard.num_bytes,
                sha256=shard.sha256,
            )
        )
    counts = {
        class_name: sum(shard.class_counts.get(index, 0) for shard in written)
        for index, class_name in enumerate(data.class_names)
    }
    return Split(shards=tuple(shards), class_counts=counts)
