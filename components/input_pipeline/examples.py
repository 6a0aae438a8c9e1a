"""Examples by index: decoded once and kept, in memory or on disk, or decoded each time.

Legend: N examples, B batch.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from components.input_pipeline import decoded_file, decoding, shard_index
from components.input_pipeline.config import CacheKind

_DECODE_BATCH = 1024
_READ_AHEAD = 16
_BUFFER_BYTES = 1 << 16


class Examples(Protocol):
    """Examples that can be had in any order."""

    num_rows: int

    def batches(self, numbered: tf.data.Dataset, *, batch_size: int) -> tf.data.Dataset:
        """Turns (number, int64 indices of shape (B,)) into (number, what the decoder makes)."""


def open_examples(shards: Sequence[str], decode: decoding.Decoder, *, cache: CacheKind) -> Examples:
    """Opens shards that `components.ingest` wrote.

    Args:
        shards: Paths of uncompressed TFRecord files; their order numbers the examples.
        decode: The recipe's decoder.
        cache: "memory" and "disk" decode everything now and keep it there until the process ends;
            "none" decodes each time; "auto" chooses by size.

    Raises:
        ValueError: If a shard is missing or ends within a record.
    """
    index = shard_index.index_shards(shards)
    num_rows = len(index.offsets_N)
    decoded = _decoded(shards, decode)
    if cache == "auto":
        cache = decoded_file.choose_cache(decoded.element_spec, num_rows=num_rows)
    if cache == "memory":
        return MemoryExamples(decoded, num_rows=num_rows)
    if cache == "disk":
        file = decoded_file.write(decoded)
        return ShardExamples([file.path], file.decode, file.index(num_rows))
    return ShardExamples(shards, decode, index)


def _decoded(shards: Sequence[str], decode: decoding.Decoder) -> tf.data.Dataset:
    serialized = tf.data.TFRecordDataset(list(shards), buffer_size=1 << 20)
    decoded = serialized.batch(_DECODE_BATCH).map(
        decode, num_parallel_calls=parallel_calls(), deterministic=True
    )
    return decoded.with_options(fixed_options())


class MemoryExamples:
    """All examples as decoded arrays in the host's memory.

    Args:
        decoded: Batches of all examples, in order.
        num_rows: Number of examples.
    """

    def __init__(self, decoded: tf.data.Dataset, *, num_rows: int):
        self.num_rows = num_rows
        arrays = tf.nest.map_structure(
            lambda spec: np.empty((num_rows, *spec.shape[1:]), spec.dtype.as_numpy_dtype),
            decoded.element_spec,
        )
        first = 0
        for batch in decoded:
            stop = first + len(tf.nest.flatten(batch)[0])
            tf.nest.map_structure(_fill(first, stop), arrays, batch)
            first = stop
        # Named, because an accelerator would otherwise take the whole dataset into its own memory.
        with tf.device("/CPU:0"):
            self._arrays = tf.nest.map_structure(tf.constant, arrays)

    def batches(self, numbered: tf.data.Dataset, *, batch_size: int) -> tf.data.Dataset:
        """Gathers the examples; see `Examples.batches`."""
        del batch_size  # An index tensor of any size is one gather.
        return numbered.map(self._gather, num_parallel_calls=parallel_calls(), deterministic=True)

    def _gather(self, number: tf.Tensor, indices_B: tf.Tensor) -> tuple[tf.Tensor, Any]:
        return number, tf.nest.map_structure(
            lambda array: tf.gather(array, indices_B), self._arrays
        )


def _fill(first: int, stop: int) -> Callable[[np.ndarray, tf.Tensor], None]:
    def fill(array: np.ndarray, part: tf.Tensor) -> None:
        array[first:stop] = part

    return fill


class ShardExamples:
    """Examples that stay in their files; each is read from its own byte offset.

    Args:
        paths: Uncompressed TFRecord files.
        decode: From serialised examples (B,) to a batch.
        index: Where each example is.
    """

    def __init__(
        self,
        paths: Sequence[str],
        decode: Callable[[tf.Tensor], Any],
        index: shard_index.ShardIndex,
    ):
        self.num_rows = len(index.offsets_N)
        self._decode = decode
        with tf.device("/CPU:0"):
            self._paths = tf.constant(list(paths))
            self._shards_N = tf.constant(index.shards_N)
            self._offsets_N = tf.constant(index.offsets_N)

    def batches(self, numbered: tf.data.Dataset, *, batch_size: int) -> tf.data.Dataset:
        """Reads and decodes the examples; see `Examples.batches`."""
        rows = numbered.map(lambda number, indices_B: (tf.fill([batch_size], number), indices_B))
        serialized = rows.unbatch().interleave(
            self._read_one,
            cycle_length=_READ_AHEAD,
            block_length=1,
            num_parallel_calls=parallel_calls(),
            deterministic=True,
        )
        return serialized.batch(batch_size, drop_remainder=True).map(
            lambda numbers_B, serialized_B: (numbers_B[0], self._decode(serialized_B)),
            num_parallel_calls=parallel_calls(),
            deterministic=True,
        )

    def _read_one(self, number: tf.Tensor, index: tf.Tensor) -> tf.data.Dataset:
        # The public TFRecordDataset does not take the offsets that its operation has.
        records = tf.raw_ops.TFRecordDatasetV2(
            filenames=self._paths[self._shards_N[index]][None],
            compression_type="",
            buffer_size=_BUFFER_BYTES,
            byte_offsets=self._offsets_N[index][None],
        )
        record = tf.data.experimental.from_variant(records, tf.TensorSpec((), tf.string))
        return tf.data.Dataset.zip((tf.data.Dataset.from_tensors(number), record))


def parallel_calls() -> int:
    """Returns how many elements of a chain are worked on at once."""
    return min(len(os.sched_getaffinity(0)), 8)


def fixed_options() -> tf.data.Options:
    """Returns options with which a chain's order and parallelism are fixed.

    Autotune is off because it makes the end of an iteration wait for seconds on a CPU: a `fit` with
    validation took 34 to 42 s with it and 23 to 30 s without, at the same rows per second within.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    options.deterministic = True
    # There are no files to divide among workers here: each takes its part of every global batch.
    policy = tf.data.experimental.AutoShardPolicy.DATA
    options.experimental_distribute.auto_shard_policy = policy
    return options
