"""The one tf.data chain for training and the one for evaluation.

Training: global step -> order -> read or gather -> augment -> prefetch. Everything up to the
prefetch is a pure function of (seed, global step): a run that starts at step s sees what the
uninterrupted run saw.

Legend: B global batch, H height, W width, C channels.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import tensorflow as tf

from components.ingest.config import ImageFeature
from components.input_pipeline import augment, examples, order, shard_index
from components.input_pipeline.config import AugmentConfig, InputConfig

_PREFETCH_BATCHES = 4
_SEED_LIMIT = 1 << 62


def train_dataset(
    shards: Sequence[str],
    *,
    image: ImageFeature,
    input_config: InputConfig,
    global_batch_size: int,
    seed: int,
    start_step: int = 0,
    num_steps: int | None = None,
) -> tf.data.Dataset:
    """Returns full batches of (images_BHWC, labels_B) in a seeded order, augmented.

    Under a strategy each replica gets its own part of every batch.

    Args:
        shards: Paths of the training split's shards.
        image: The recipe's `[data.image]`.
        input_config: The recipe's `[input]`.
        global_batch_size: Examples per step over all replicas, in [1, number of examples].
        seed: The recipe's seed.
        start_step: Global step of the first batch, >= 0.
        num_steps: Number of batches; None for a dataset without end.

    Returns:
        A dataset of uint8 images (B, H, W, C) and int64 labels (B,).

    Raises:
        ValueError: If a shard is damaged or the batch is larger than the data.
    """
    source = examples.open_examples(shards, image, cache=input_config.cache)
    check_batch_size(global_batch_size, num_rows=source.num_rows)
    stop = np.iinfo(np.int64).max if num_steps is None else start_step + num_steps
    steps = tf.data.Dataset.range(start_step, stop)
    folded_seed = seed % _SEED_LIMIT
    indices = steps.map(
        lambda step: order.example_indices(
            step,
            global_batch_size=global_batch_size,
            num_rows=source.num_rows,
            seed=folded_seed,
        ),
    )
    batches = source.batches(indices, batch_size=global_batch_size)
    if input_config.augment != AugmentConfig():
        batches = _augment(steps, batches, input_config.augment, seed=folded_seed)
    return batches.prefetch(_PREFETCH_BATCHES).with_options(examples.fixed_options())


def _augment(
    steps: tf.data.Dataset, batches: tf.data.Dataset, config: AugmentConfig, *, seed: int
) -> tf.data.Dataset:
    def augment_batch(
        step: tf.Tensor, batch: tuple[tf.Tensor, tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor]:
        images_BHWC, labels_B = batch
        seed_2 = tf.stack([tf.constant(seed, tf.int64), step])
        return augment.augment_images(images_BHWC, config, seed_2=seed_2), labels_B

    return tf.data.Dataset.zip((steps, batches)).map(
        augment_batch, num_parallel_calls=examples.parallel_calls(), deterministic=True
    )


def eval_dataset(
    shards: Sequence[str],
    *,
    image: ImageFeature,
    global_batch_size: int,
    cache: Literal["memory", "none"] = "memory",
) -> tf.data.Dataset:
    """Returns every example once, in order, unaugmented, in batches that all have the same shape.

    Equal shapes suit every strategy, TPU's included; the weights make the result exact.

    Args:
        shards: Paths of a split's shards.
        image: The recipe's `[data.image]`.
        global_batch_size: Examples per batch, > 0.
        cache: Where examples are kept from one pass to the next.

    Returns:
        A dataset of uint8 images (B, H, W, C), int64 labels (B,), and float32 weights (B,): 1 for
        an example and 0 for what fills up the last batch.

    Raises:
        ValueError: If a shard is damaged.
    """
    source = examples.open_examples(shards, image, cache=cache)
    filling = tf.data.Dataset.range(-source.num_rows % global_batch_size).map(tf.zeros_like)
    indices = tf.data.Dataset.range(source.num_rows).concatenate(filling)
    batches = source.batches(
        indices.batch(global_batch_size, drop_remainder=True), batch_size=global_batch_size
    )

    def add_weights(
        number: tf.Tensor, batch: tuple[tf.Tensor, tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        images_BHWC, labels_B = batch
        positions_B = number * global_batch_size + tf.range(global_batch_size, dtype=tf.int64)
        return images_BHWC, labels_B, tf.cast(positions_B < source.num_rows, tf.float32)

    weighted = batches.enumerate().map(add_weights)
    return weighted.prefetch(_PREFETCH_BATCHES).with_options(examples.fixed_options())


def count_examples(shards: Sequence[str]) -> int:
    """Returns the number of examples in shards, without decoding them.

    Raises:
        ValueError: If there are no shards, one is missing, or one ends within a record.
    """
    return len(shard_index.index_shards(shards).offsets_N)


def check_batch_size(global_batch_size: int, *, num_rows: int) -> None:
    """Checks that the data fills a batch.

    Raises:
        ValueError: If it does not.
    """
    if not 0 < global_batch_size <= num_rows:
        raise ValueError(
            "training.global_batch_size must be between 1 and the number of training examples. "
            f"Received: global_batch_size={global_batch_size}, examples={num_rows}."
        )
