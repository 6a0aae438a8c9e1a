"""A folder that TensorFlow Datasets has prepared, read without importing it or TensorFlow."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from components.ingest import checks, example, splits, tfrecord
from components.ingest.config import DataConfig
from components.ingest.errors import DataError, RowError, nearest
from components.ingest.features import recordings
from components.ingest.features.config import IMAGE_FEATURE, AudioFeature
from components.ingest.sources import columns, encoded, files, tfrecord_files
from components.ingest.sources.base import ColumnRows, Reject, Row

_INFO_FILE = "dataset_info.json"
_BLOCK_BYTES = 1 << 17


@dataclasses.dataclass(frozen=True)
class ColumnsBlock(tfrecord_files.RecordsBlock):
    """Records of a dataset whose input is no image, or whose splits go by a column."""

    # The names behind the indices in columns of classes.
    class_names: Mapping[str, tuple[str, ...]]

    def read(self, names: Sequence[str]) -> ColumnRows:
        """Returns some columns, classes as their names and samples as WAV files."""
        audio = self.data.audio
        samples = {audio.source_name} & set(names) if audio else set()
        lists = samples | (columns.list_columns(self.data) & set(names))
        found = tfrecord_files.read_columns(self, names, lists=lists)
        arrays = dict(found.arrays)
        for name in self.class_names.keys() & names:
            arrays[name] = _named(arrays[name], self.class_names[name])
        for name in samples:
            arrays[name] = _recordings(arrays[name], audio)  # type: ignore[arg-type]
        return found._replace(arrays=arrays)


def _named(array: pyarrow.Array, class_names: Sequence[str]) -> pyarrow.Array:
    """Returns names for indices; TFDS writes -1 where a class is not known."""
    names = [
        class_names[index] if index is not None and 0 <= index < len(class_names) else None
        for index in array.to_pylist()
    ]
    return pyarrow.array(names, pyarrow.string())


def _recordings(array: pyarrow.Array, audio: AudioFeature) -> pyarrow.Array:
    """Returns files for lists of samples, which TFDS keeps unless it keeps whole files."""
    contents: list[bytes | None] = []
    for values in array.to_pylist():
        if values and not isinstance(values[0], bytes):
            contents.append(recordings.encode_samples(np.array(values), audio.sample_rate_hz))
        else:
            contents.append(values[0] if values else None)
    return pyarrow.array(contents, pyarrow.binary())


@dataclasses.dataclass(frozen=True)
class RecordBlock:
    """Images and their classes as TFDS wrote them, numbered from `first_row` in the split."""

    split: str
    first_row: int
    records: list[bytes]
    data: DataConfig

    def rows(self) -> Iterator[Row | Reject]:
        """Yields the rows; the split is a hash of the encoded image."""
        for index, record in enumerate(self.records, start=self.first_row):
            key = f"{self.split}/{index:08d}"
            try:
                yield self._row(key, example.decode_example(record))
            except ValueError as error:
                yield Reject(key, str(error))

    def _row(self, key: str, features: dict[str, list[Any]]) -> Row:
        images = features.get(self.data.image_feature().source_name, [])
        labels = features.get(self.data.label_feature().source_name, [])
        if len(images) != 1 or len(labels) != 1:
            raise RowError("it has no image or no label")
        look = encoded.check_image(images[0], self.data.image_feature())
        return Row(key, {IMAGE_FEATURE: images[0]}, labels[0], images[0], look)


@dataclasses.dataclass(frozen=True)
class TfdsFolderSource:
    """One version of a prepared dataset."""

    name: str
    folder: Path
    data: DataConfig
    shards: dict[str, list[Path]]
    class_names: Mapping[str, tuple[str, ...]]

    @property
    def origin(self) -> str:
        """The name and version of the dataset."""
        return f"TensorFlow Datasets {self.name}, version {self.folder.name}"

    @property
    def given_splits(self) -> frozenset[str]:
        """The splits of the three that the dataset has."""
        return frozenset(self.shards)

    @property
    def num_bytes(self) -> int:
        """The size of the shards."""
        return sum(path.stat().st_size for path in self.files().values())

    def files(self) -> dict[str, Path]:
        """The shards, split by split."""
        return {path.name: path for shards in self.shards.values() for path in shards}

    def blocks(self) -> Iterator[RecordBlock | ColumnsBlock]:
        """Yields blocks of about 128 KiB of records.

        Raises:
            DataError: If a shard is truncated or damaged.
        """
        if not _are_images_by_class(self.data):
            yield from self._column_blocks()
            return
        for split, paths in self.shards.items():
            first = 0
            for records in _batches(paths):
                yield RecordBlock(split, first, records, self.data)
                first += len(records)

    def _column_blocks(self) -> Iterator[ColumnsBlock]:
        for split, paths in self.shards.items():
            for path in paths:
                file = files.SourceFile(path.name, str(path))
                first = 0
                for bodies in tfrecord_files.record_batches(file):
                    yield ColumnsBlock(split, path.name, first, bodies, self.data, self.class_names)
                    first += len(bodies)

    def times(self) -> Iterator[np.ndarray]:
        """Yields the times of the rows that the recipe divides by time, in seconds."""
        return columns.block_times(self._column_blocks(), self.data.splits.key or "")


def _are_images_by_class(data: DataConfig) -> bool:
    return data.image is not None and data.label is not None and data.splits.key is None


def find_prepared(name: str, data: DataConfig, roots: list[Path]) -> TfdsFolderSource | None:
    """Finds the newest prepared version of a dataset under the first of `roots` that has one.

    Raises:
        DataError: If it contradicts the recipe.
    """
    path, _, version = name.partition(":")
    for root in roots:
        found = [info.parent for info in (root / path).glob(f"*/{_INFO_FILE}")]
        versions = {_version_key(folder.name): folder for folder in found}
        if version:
            versions = {key: folder for key, folder in versions.items() if folder.name == version}
        if versions:
            return _open_folder(name, versions[max(versions)], data)
    return None


def _version_key(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", name))


def _open_folder(name: str, folder: Path, data: DataConfig) -> TfdsFolderSource:
    info = json.loads((folder / _INFO_FILE).read_text())
    if info.get("fileFormat", "tfrecord") != "tfrecord":
        raise DataError(
            f"Expected {folder} to hold TFRecord files. Received: fileFormat={info['fileFormat']}. "
            'Prepare the dataset again with file_format="tfrecord".'
        )
    class_names = _check_features(folder, data)
    shards = {
        split["name"]: _shards(folder, info, split)
        for split in info["splits"]
        if split["name"] in splits.SPLITS
    }
    if splits.TRAIN not in shards:
        names = sorted(split["name"] for split in info["splits"])
        raise DataError(
            f'Expected {folder} to have a split "train". Received: splits={names}. '
            "Choose a dataset, or a configuration of it, that has one."
        )
    return TfdsFolderSource(name, folder, data, shards, class_names)


def _shards(folder: Path, info: dict[str, Any], split: dict[str, Any]) -> list[Path]:
    count = len(split["shardLengths"])
    template = split.get("filepathTemplate") or "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
    paths = []
    for index in range(count):
        name = template.format(
            DATASET=info["name"],
            SPLIT=split["name"],
            FILEFORMAT="tfrecord",
            SHARD_INDEX=f"{index:05d}",
            NUM_SHARDS=f"{count:05d}",
            SHARD_X_OF_Y=f"{index:05d}-of-{count:05d}",
        )
        paths.append(folder / name)
    if missing := [path for path in paths if not path.is_file()]:
        raise DataError(
            f"Expected every shard of the prepared dataset. Received: no file {missing[0]}. "
            "Remove the folder and prepare the dataset again."
        )
    return paths


def _check_features(folder: Path, data: DataConfig) -> dict[str, tuple[str, ...]]:
    """Checks the recipe against what the dataset says it holds, and returns its names of classes.

    Raises:
        DataError: If the recipe contradicts it.
    """
    features = json.loads((folder / "features.json").read_text())["featuresDict"]["features"]
    _check_names(features, data)
    if data.image:
        _check_size(features[data.image.source_name], data)
    if data.audio:
        _check_rate(features[data.audio.source_name], data.audio)
    named = {
        name: tuple((folder / f"{name}.labels.txt").read_text().splitlines())
        for name in columns.used_columns(data)
        if (folder / f"{name}.labels.txt").is_file()
    }
    if data.label and named.get(data.label.source_name, data.class_names) != data.class_names:
        raise DataError(
            "Expected data.label.class_names to be the dataset's own, in its order. "
            f"Received: {list(data.class_names)}; the dataset has "
            f"{list(named[data.label.source_name])}. Copy that list into the recipe."
        )
    return named


def _check_names(features: Mapping[str, Any], data: DataConfig) -> None:
    """Checks that the dataset has each feature, and images just where the recipe says."""
    found = [*features, *_nested(features)]
    for name in columns.used_columns(data):
        is_image = data.image is not None and name == data.image.source_name
        element = columns.element(name)
        known = name in found or (element is not None and element[0] in found)
        if not known or ("image" in features.get(name, {})) != is_image:
            key, of = _key_of(name, data)
            raise DataError(
                f"Expected {key} to be a feature that holds {of}. "
                f"Received: {key}={name}, features={sorted(features)}.{nearest(name, features)}"
            )


def _nested(features: Mapping[str, Any]) -> Iterator[str]:
    """Yields the names that features within features have in the examples."""
    for name, feature in features.items():
        inner = feature.get("featuresDict", {}).get("features", {})
        yield from (f"{name}/{each}" for each in [*inner, *_nested(inner)])


def _key_of(name: str, data: DataConfig) -> tuple[str, str]:
    """Returns where the recipe names a feature, and what that should hold."""
    for key in ("image", "text", "audio", "label", "target"):
        part = getattr(data, key)
        if part is not None and part.source_name == name:
            return f"data.{key}.source_name", f"the {key}"
    if name == data.splits.key:
        return "data.splits.key", "what the splits go by"
    return "data.table.columns", "numbers or names"


def _check_size(feature: Mapping[str, Any], data: DataConfig) -> None:
    dimensions = feature["image"]["shape"].get("dimensions", [])
    if len(dimensions) == 3 and not {"-1", "0"} & set(dimensions):
        height_px, width_px, channels = (int(size) for size in dimensions)
        checks.check_image_size(data, height_px=height_px, width_px=width_px, channels=channels)


def _check_rate(feature: Mapping[str, Any], audio: AudioFeature) -> None:
    """Checks the rate of samples, which the examples do not repeat; files tell their own."""
    rate_hz = int(feature.get("audio", {}).get("sampleRate", audio.sample_rate_hz))
    if rate_hz != audio.sample_rate_hz:
        raise DataError(
            "Expected data.audio.sample_rate_hz to be the dataset's own. Received: "
            f"sample_rate_hz = {audio.sample_rate_hz}; the dataset has {rate_hz}. Correct it."
        )


def _batches(paths: list[Path]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for path in paths:
        for record in tfrecord.read_records(path):
            batch.append(record)
            size += len(record)
            if size >= _BLOCK_BYTES:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch
