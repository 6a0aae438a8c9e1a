"""Where each record of uncompressed TFRecord shards begins, found without reading the records."""

import mmap
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

# Each record is 8 bytes of length, 4 of checksum, the data, and 4 of checksum.
_LENGTH = struct.Struct("<Q")
OVERHEAD_BYTES = 16


class ShardIndex(NamedTuple):
    """The records of some shards, in their order: N records."""

    shards_N: np.ndarray  # int64: which of the shards.
    offsets_N: np.ndarray  # int64: byte at which the record begins.


def index_shards(shards: Sequence[str]) -> ShardIndex:
    """Finds the records of uncompressed TFRecord files; a million take about a second.

    Raises:
        ValueError: If there are no shards, one is missing, or one ends within a record.
    """
    if not shards:
        raise ValueError("Expected at least one shard. Received: shards=[]. Ingest the data first.")
    offsets = [_record_offsets(Path(shard)) for shard in shards]
    sizes = [len(found) for found in offsets]
    return ShardIndex(np.repeat(np.arange(len(shards)), sizes), np.concatenate(offsets))


def _record_offsets(path: Path) -> np.ndarray:
    try:
        num_bytes = path.stat().st_size
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            offsets, position = [], 0
            while position < num_bytes:
                offsets.append(position)
                position += _LENGTH.unpack_from(data, position)[0] + OVERHEAD_BYTES
    except (OSError, ValueError, struct.error) as error:
        raise ValueError(
            f"Expected a readable, non-empty TFRecord shard. Received: shard={path} ({error}). "
            "Remove the dataset from the cache and ingest again."
        ) from error
    if position != num_bytes:
        raise ValueError(
            f"Expected {path} to end with a whole record. "
            f"Received: {num_bytes} bytes, where the last record needs {position}. "
            "Remove the dataset from the cache and ingest again."
        )
    return np.asarray(offsets, np.int64)
