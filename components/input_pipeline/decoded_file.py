"""Decoded examples in a file, for those that do not fit into memory.

Each is a TFRecord of the bytes of its tensors, one after another, so all records have one length.

Legend: B batch.
"""

import atexit
import pathlib
import shutil
import tempfile
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from components import host_memory
from components.ingest import tfrecord
from components.input_pipeline import shard_index

# Building the arrays takes twice their size for a moment.
_MEMORY_SHARE, _DISK_SHARE = 0.25, 0.5


class DecodedFile:
    """A file of decoded examples, which is removed when the process ends.

    Attributes:
        path: The file.

    Args:
        path: The file.
        spec: Shapes and types of a batch of what it holds.
    """

    def __init__(self, path: str, spec: Any):
        self.path = path
        self._spec = spec

    def index(self, num_rows: int) -> shard_index.ShardIndex:
        """Returns where each example is.

        Args:
            num_rows: Number of examples.
        """
        size = example_bytes(self._spec) + shard_index.OVERHEAD_BYTES
        rows_N = np.arange(num_rows, dtype=np.int64)
        return shard_index.ShardIndex(np.zeros_like(rows_N), rows_N * size)

    def decode(self, serialized_B: tf.Tensor) -> Any:
        """Turns records back into a batch.

        Args:
            serialized_B: Strings (B,).
        """
        bytes_BR = tf.io.decode_raw(serialized_B, tf.uint8, fixed_length=example_bytes(self._spec))
        parts, first = [], 0
        for spec in tf.nest.flatten(self._spec):
            stop = first + _spec_bytes(spec)
            parts.append(_from_bytes(bytes_BR[:, first:stop], spec))
            first = stop
        return tf.nest.pack_sequence_as(self._spec, parts)


def write(decoded: tf.data.Dataset) -> DecodedFile:
    """Writes batches of decoded examples to a new file in the folder for temporary files.

    Args:
        decoded: Batches of all examples, in order.
    """
    folder = tempfile.mkdtemp(prefix="kerasline_decoded_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = pathlib.Path(folder, "examples")
    file = DecodedFile(str(path), decoded.element_spec)
    writer = tfrecord.RecordWriter(path)
    for batch in decoded.as_numpy_iterator():
        tensors = [np.ascontiguousarray(part) for part in tf.nest.flatten(batch)]
        for row in zip(*tensors, strict=True):
            writer.write(b"".join(part.tobytes() for part in row))
    writer.close()
    return file


def choose_cache(spec: Any, *, num_rows: int) -> Literal["memory", "disk", "none"]:
    """Chooses by size where decoded examples are kept.

    Args:
        spec: Shapes and types of a decoded batch.
        num_rows: Number of examples.
    """
    num_bytes = num_rows * example_bytes(spec)
    if num_bytes <= _MEMORY_SHARE * host_memory.available_bytes():
        return "memory"
    free = shutil.disk_usage(tempfile.gettempdir()).free
    return "disk" if num_bytes <= _DISK_SHARE * free else "none"


def example_bytes(spec: Any) -> int:
    """Returns the size of one decoded example.

    >>> example_bytes((tf.TensorSpec((None, 28, 28, 1), tf.uint8), tf.TensorSpec((None, 2))))
    792
    """
    return sum(_spec_bytes(part) for part in tf.nest.flatten(spec))


def _spec_bytes(spec: tf.TensorSpec) -> int:
    return spec.shape[1:].num_elements() * spec.dtype.size


def _from_bytes(bytes_BR: tf.Tensor, spec: tf.TensorSpec) -> tf.Tensor:
    shape = (-1, *spec.shape[1:])
    if spec.dtype.size == 1:
        return tf.bitcast(tf.reshape(bytes_BR, shape), spec.dtype)
    return tf.bitcast(tf.reshape(bytes_BR, (*shape, spec.dtype.size)), spec.dtype)
