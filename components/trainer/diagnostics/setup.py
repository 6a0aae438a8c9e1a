"""What the diagnostics share: a built run and its batches, without log or checkpoints."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf

from components.trainer import batches, build, precision, strategy
from components.trainer import request as train_request
from components.trainer.config import OptimizerConfig, ScheduleConfig, TrainingConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bench:
    """A run that is ready to take steps.

    Attributes:
        built: Model, optimizer and step.
        dataset: Endless training batches, (inputs, labels_B), on one device.
    """

    built: build.Built
    dataset: tf.data.Dataset

    def batches(self) -> Iterator[Any]:
        """Returns an iterator that begins with the first step's batch."""
        return iter(self.dataset)


def make_bench(request: train_request.TrainRequest) -> Bench:
    """Builds a run on one device.

    Args:
        request: What to train; its folder is not touched.

    Raises:
        ValueError: If batch size, data and model do not fit each other.
    """
    one_device = strategy.make_strategy("one_device")
    build.check_request(request.training, one_device, num_classes=batches.num_classes(request))
    steps_per_epoch = batches.count_steps_per_epoch(request)
    keras.utils.set_random_seed(request.seed)
    with precision.policy_scope(precision.resolve_policy(request.training.precision)):
        built = build.build(
            request.model,
            request.training,
            inputs=batches.decoder(request).inputs,
            head=batches.head(request),
            seed=request.seed,
            steps_per_epoch=steps_per_epoch,
            strategy=one_device,
        )
    return Bench(built=built, dataset=batches.train_dataset(request))


def plain_training(
    training: TrainingConfig, *, learning_rate: float, global_batch_size: int | None = None
) -> TrainingConfig:
    """Returns the settings with all that hides the raw loss switched off.

    Constant rate, no decay, smoothing, class weights, average or accumulation.

    Args:
        training: The recipe's training.
        learning_rate: The constant rate.
        global_batch_size: Another batch size, if not None.
    """
    optimizer = training.optimizer.to_dict()
    optimizer.update(learning_rate=learning_rate, weight_decay=0.0)
    optimizer.pop("scale_with_batch", None)
    return TrainingConfig(
        num_epochs=1,
        global_batch_size=global_batch_size or training.global_batch_size,
        optimizer=OptimizerConfig.from_dict(optimizer),
        schedule=ScheduleConfig(name="constant", warmup_steps=0),
        precision=training.precision,
        frozen_layers=training.frozen_layers,
        jit_compile=False,
    )
