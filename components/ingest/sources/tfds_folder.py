"""A folder that TensorFlow Datasets has prepared, read without importing it or TensorFlow."""

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from components.ingest import checks, example, splits, tfrecord
from components.ingest.config import DataConfig
from components.ingest.errors import DataError, RowError, nearest
from components.ingest.features.config import IMAGE_FEATURE
from components.ingest.sources import encoded
from components.ingest.sources.base import Reject, Row

_INFO_FILE = "dataset_info.json"
_BLOCK_BYTES = 1 << 17


@dataclasses.dataclass(frozen=True)
class RecordBlock:
    """Serialised tf.Examples as TFDS wrote them, numbered from `first_row` within the split."""

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

    def blocks(self) -> Iterator[RecordBlock]:
        """Yields blocks of about 128 KiB of records.

        Raises:
            DataError: If a shard is truncated or damaged.
        """
        for split, paths in self.shards.items():
            first = 0
            for records in _batches(paths):
                yield RecordBlock(split, first, records, self.data)
                first += len(records)


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
    _check_features(folder, data)
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
    return TfdsFolderSource(name, folder, data, shards)


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


def _check_features(folder: Path, data: DataConfig) -> None:
    features = json.loads((folder / "features.json").read_text())["featuresDict"]["features"]
    for key, name in (
        ("image", data.image_feature().source_name),
        ("label", data.label_feature().source_name),
    ):
        if name not in features or ("image" in features[name]) != (key == "image"):
            raise DataError(
                f"Expected data.{key}.source_name to be a feature that holds the {key}. "
                f"Received: data.{key}.source_name={name}, features={sorted(features)}."
                f"{nearest(name, features)}"
            )
    dimensions = features[data.image_feature().source_name]["image"]["shape"].get("dimensions", [])
    if len(dimensions) == 3 and not {"-1", "0"} & set(dimensions):
        height_px, width_px, channels = (int(size) for size in dimensions)
        checks.check_image_size(data, height_px=height_px, width_px=width_px, channels=channels)
    _check_class_names(folder / f"{data.label_feature().source_name}.labels.txt", data)


def _check_class_names(path: Path, data: DataConfig) -> None:
    if not path.is_file():
        return
    names = tuple(path.read_text().splitlines())
    if names != data.class_names:
        raise DataError(
            "Expected data.label.class_names to be the dataset's own, in its order. "
            f"Received: {list(data.class_names)}; the dataset has {list(names)}. "
            "Copy that list into the recipe."
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
