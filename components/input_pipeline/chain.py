"""The one tf.data chain for training and the one for evaluation.

Training: global step -> order -> read -> augment -> batch -> augment the batch -> prefetch.
Everything up to the prefetch is a pure function of (seed, global step): a run that starts at step s
sees what the uninterrupted run saw.

Legend: B global batch, H height, W width, C channels, K classes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from components.input_pipeline import decoding, examples, parts, shard_index
from components.input_pipeline import service as services
from components.input_pipeline.augmentation import augmenter, mixing
from components.input_pipeline.config import AugmentConfig, CacheKind, InputConfig
from models import inputs

_PREFETCH_BATCHES = 4
_SEED_LIMIT = 1 << 62
_MIX_STREAM = 0x6D6978


def train_dataset(
    shards: Sequence[str],
    *,
    decode: decoding.Decoder,
    input_config: InputConfig,
    global_batch_size: int,
    seed: int,
    num_classes: int | None = None,
    start_step: int = 0,
    num_steps: int | None = None,
    service: str | None = None,
) -> tf.data.Dataset:
    """Returns full batches of (inputs, labels) in a seeded order, augmented.

    Under a strategy each replica gets its own part of every batch.

    Args:
        shards: Paths of the training split's shards.
        decode: The recipe's decoder.
        input_config: The recipe's `[input]`.
        global_batch_size: Examples per step over all replicas, in [1, number of examples].
        seed: The recipe's seed.
        num_classes: K; needed where examples are mixed.
        start_step: Global step of the first batch, >= 0.
        num_steps: Number of batches; None for a dataset without end.
        service: Who makes the batches in place of this process; see `service.distribute`. What is
            "auto" is then not cached.

    Returns:
        A dataset of the model's inputs, one tensor or several by name, and of int64 labels (B,),
        or, where examples are mixed, float32 shares of the classes (B, K).

    Raises:
        ValueError: If a shard is damaged or the batch is larger than the data.
    """
    stages = train_stages(
        shards,
        decode=decode,
        input_config=input_config,
        global_batch_size=global_batch_size,
        seed=seed,
        num_classes=num_classes,
        start_step=start_step,
        num_steps=num_steps,
        service=service,
    )
    return list(stages.values())[-1]


def train_stages(
    shards: Sequence[str],
    *,
    decode: decoding.Decoder,
    input_config: InputConfig,
    global_batch_size: int,
    seed: int,
    num_classes: int | None = None,
    start_step: int = 0,
    num_steps: int | None = None,
    service: str | None = None,
) -> dict[str, tf.data.Dataset]:
    """Returns the training chain cut off after each of its stages, in their order.

    The stages are "order", "read" (which parses and decodes, or gathers what is cached), "augment",
    "batch", "mix", "serve" and "prefetch"; those without anything to do are left out.

    Args:
        shards: See `train_dataset`, as for all others.

    Raises:
        ValueError: If a shard is damaged, the batch is larger than the data, or examples are mixed
            and have no classes.
    """
    cache = input_config.cache
    if service is not None:
        cache = _cache_of_service(cache)
    source = examples.open_examples(shards, decode, cache=cache)
    check_batch_size(global_batch_size, num_rows=source.num_rows)
    augment = augmenter.make_augmenter(input_config, decode.inputs)
    part_size = global_batch_size
    if augment is not None and isinstance(decode.inputs, inputs.ImageInput):
        part_size = parts.part_size(
            global_batch_size, decode.inputs, has_policy=input_config.augment.has_policy
        )
    num_parts = global_batch_size // part_size
    folded_seed = seed % _SEED_LIMIT
    stages = {}
    # Every element carries its number, so that all of the chain hangs on one dataset of steps: a
    # service can then give each step to one of its workers.
    stages["order"] = parts.part_indices(
        _steps(start_step, num_steps),
        size=part_size,
        num_parts=num_parts,
        num_rows=source.num_rows,
        seed=folded_seed,
    )
    batches = stages["read"] = source.batches(stages["order"], batch_size=part_size)
    if augment is not None:
        batches = stages["augment"] = _map(batches, _augment_part(augment, seed=folded_seed))
    if num_parts > 1:
        joined = batches.batch(num_parts, drop_remainder=True).map(parts.join)
        batches = stages["batch"] = joined
    if input_config.augment.is_mixed:
        mix = _mix_batch(input_config.augment, num_classes=num_classes, seed=folded_seed)
        batches = stages["mix"] = _map(batches, mix)
    batches = batches.map(lambda number, batch: batch)
    if service is not None:
        batches = stages["serve"] = services.distribute(batches, service)
    stages["prefetch"] = batches.prefetch(_PREFETCH_BATCHES)
    return {
        name: dataset.with_options(examples.fixed_options()) for name, dataset in stages.items()
    }


def _cache_of_service(cache: CacheKind) -> CacheKind:
    if cache in ("memory", "disk"):
        raise ValueError(
            "Workers of a data service read the shards themselves, so nothing is cached here. "
            f'Received: input.cache = "{cache}". Set it to "auto" or "none".'
        )
    return "none"


def _steps(start_step: int, num_steps: int | None) -> tf.data.Dataset:
    stop = np.iinfo(np.int64).max if num_steps is None else start_step + num_steps
    return tf.data.Dataset.range(start_step, stop)


def _map(numbered: tf.data.Dataset, function: Callable[..., Any]) -> tf.data.Dataset:
    return numbered.map(
        lambda number, batch: (number, function(number, batch)),
        num_parallel_calls=examples.parallel_calls(),
        deterministic=True,
    )


def _augment_part(augment: augmenter.Augmenter, *, seed: int) -> Callable[..., Any]:
    def augment_part(part: tf.Tensor, batch: tuple[Any, tf.Tensor]) -> tuple[Any, tf.Tensor]:
        return augment(*batch, tf.stack([tf.constant(seed, tf.int64), part]))

    return augment_part


def _mix_batch(
    config: AugmentConfig, *, num_classes: int | None, seed: int
) -> Callable[..., tuple[tf.Tensor, tf.Tensor]]:
    if num_classes is None:
        raise ValueError(
            "input.augment.mixup_alpha and cutmix_alpha mix the labels of classes. "
            f"Received: mixup_alpha={config.mixup_alpha}, cutmix_alpha={config.cutmix_alpha}, "
            "num_classes=None. Set both to 0."
        )

    def mix_batch(
        step: tf.Tensor, batch: tuple[tf.Tensor, tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor]:
        # Apart from the draws of a part that has the number of this step.
        seed_2 = tf.random.fold_in(tf.stack([tf.constant(seed, tf.int64), step]), _MIX_STREAM)
        return mixing.mix(*batch, config, num_classes=num_classes, seed_2=seed_2)

    return mix_batch


def eval_dataset(
    shards: Sequence[str],
    *,
    decode: decoding.Decoder,
    global_batch_size: int,
    cache: CacheKind = "auto",
) -> tf.data.Dataset:
    """Returns every example once, in order, unaugmented, in batches that all have the same shape.

    Equal shapes suit every strategy, TPU's included; the weights make the result exact.

    Args:
        shards: Paths of a split's shards.
        decode: The recipe's decoder.
        global_batch_size: Examples per batch, > 0.
        cache: Where examples are kept from one pass to the next.

    Returns:
        A dataset of the model's inputs, int64 labels (B,), and float32 weights (B,): 1 for an
        example and 0 for what fills up the last batch.

    Raises:
        ValueError: If a shard is damaged.
    """
    source = examples.open_examples(shards, decode, cache=cache)
    filling = tf.data.Dataset.range(-source.num_rows % global_batch_size).map(tf.zeros_like)
    indices = tf.data.Dataset.range(source.num_rows).concatenate(filling)
    numbered = indices.batch(global_batch_size, drop_remainder=True).enumerate()
    batches = source.batches(numbered, batch_size=global_batch_size)

    def add_weights(
        number: tf.Tensor, batch: tuple[Any, tf.Tensor]
    ) -> tuple[Any, tf.Tensor, tf.Tensor]:
        model_inputs, labels_B = batch
        positions_B = number * global_batch_size + tf.range(global_batch_size, dtype=tf.int64)
        return model_inputs, labels_B, tf.cast(positions_B < source.num_rows, tf.float32)

    weighted = batches.map(add_weights)
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
