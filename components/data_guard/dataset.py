"""The dataset as the guard sees it: one table of fingerprints over all splits.

Legend: N rows.
"""

import dataclasses
from pathlib import Path

import numpy as np

from components.ingest import example, fingerprint, manifest, tfrecord

SPLITS = ("train", "validation", "test")

_CHUNK_ROWS = 4096


@dataclasses.dataclass(frozen=True)
class Table:
    """All rows of a dataset, split by split, in the order of their shards."""

    folder: Path
    class_names: tuple[str, ...]
    splits_N: np.ndarray  # int8: index into SPLITS.
    contents_N: np.ndarray  # uint64: hash of the row's content.
    labels_N: np.ndarray  # int32: index into class_names.
    greys_ND: np.ndarray  # uint8: grey thumbnails of 16 x 16 px, D = 256.
    colours_NE: np.ndarray  # uint8: colour thumbnails of 4 x 4 px, E = 48.
    brightness_N: np.ndarray  # float32: mean of the grey thumbnail.
    contrast_N: np.ndarray  # float32: its standard deviation.
    shards: tuple[tuple[str, int], ...]  # Path and number of rows, in the same order.

    def rows_of(self, split: str) -> np.ndarray:
        """Returns which rows are in a split, as a mask of shape (N,)."""
        return self.splits_N == SPLITS.index(split)

    def key(self, row: int) -> str:
        """Returns where a row came from, such as "train/00000012" or "cat/1.png"."""
        return self._read(row)["key"][0].decode()  # type: ignore[union-attr]

    def image(self, row: int) -> bytes:
        """Returns the image file of a row."""
        return self._read(row)["image"][0]  # type: ignore[return-value]

    def _read(self, row: int) -> dict[str, list[bytes] | list[int] | list[float]]:
        for path, num_rows in self.shards:
            if row < num_rows:
                return example.decode_example(tfrecord.read_record(self.folder / path, row))
            row -= num_rows
        raise IndexError(row)


def load_table(folder: Path) -> Table:
    """Reads the manifest and the fingerprints of an ingested dataset.

    It takes about 700 bytes of memory a row.

    Raises:
        FileNotFoundError: If `folder` holds no dataset, or one without fingerprints.
    """
    splits = manifest.Manifest.read(folder).splits
    parts, shards, codes = [], [], []
    for code, name in enumerate(SPLITS):
        for number, shard in enumerate(splits[name].shards):
            parts.append(folder / fingerprint.FOLDER / f"{name}-{number:05d}")
            shards.append((shard.path, shard.num_rows))
            codes.append(np.full(shard.num_rows, code, np.int8))
    layout = fingerprint.Layout.read(folder)
    rows = np.concatenate([fingerprint.read_fingerprints(path, layout) for path in parts])
    greys_ND = np.ascontiguousarray(rows["grey"].reshape(len(rows), -1))
    brightness_N, contrast_N = _mean_and_deviation(greys_ND)
    return Table(
        folder=folder,
        class_names=tuple(splits["train"].class_counts),
        splits_N=np.concatenate(codes),
        contents_N=rows["content"],
        labels_N=rows["label"],
        greys_ND=greys_ND,
        colours_NE=rows["colour"].reshape(len(rows), -1),
        brightness_N=brightness_N,
        contrast_N=contrast_N,
        shards=tuple(shards),
    )


def _mean_and_deviation(greys_ND: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns mean and standard deviation of each row, in pieces that fit a cache."""
    means, deviations = [], []
    for start in range(0, len(greys_ND), _CHUNK_ROWS):
        values = greys_ND[start : start + _CHUNK_ROWS].astype(np.float32)
        means.append(values.mean(1))
        deviations.append(values.std(1))
    return np.concatenate(means), np.concatenate(deviations)
