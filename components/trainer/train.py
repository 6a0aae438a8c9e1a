"""Trains the model of a recipe: joins data, strategy, precision, optimizer and loop."""

import dataclasses
import functools

import keras
import tensorflow as tf

from components.ingest.config import DataConfig
from components.input_pipeline import chain
from components.input_pipeline.config import InputConfig
from components.trainer import (
    evaluation,
    loop,
    loss_scale,
    losses,
    optimizer,
    precision,
    schedule,
    step,
    strategy,
)
from components.trainer.config import TrainingConfig
from models import registry
from models.config import ModelConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """What to train, on what, and where.

    Attributes:
        data: The recipe's data.
        input: The recipe's input pipeline.
        model: The recipe's model.
        training: The recipe's training.
        seed: Seed of weights, data order, augmentation and dropout.
        strategy: One of `components.trainer.strategy.STRATEGIES`.
        train_files: TFRecord shards of the train split.
        validation_files: TFRecord shards of the validation split.
    """

    data: DataConfig
    input: InputConfig
    model: ModelConfig
    training: TrainingConfig
    seed: int
    strategy: str
    train_files: tuple[str, ...]
    validation_files: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainResult:
    """What came of it.

    Attributes:
        model: The trained model; not compiled.
        history: One record for each epoch.
        policy: The dtype policy that was used.
        num_replicas: Devices that worked in parallel.
    """

    model: keras.Model
    history: list[loop.EpochRecord]
    policy: str
    num_replicas: int


def train(request: TrainRequest) -> TrainResult:
    """Trains a model from its recipe.

    Args:
        request: What to train.

    Returns:
        The model after the last epoch, and the record of the run.

    Raises:
        ValueError: If batch size, data and strategy do not fit each other.
        loop.TrainingDivergedError: If the loss or a weight is not finite.
    """
    training = request.training
    distribution = strategy.make_strategy(request.strategy)
    num_replicas = distribution.num_replicas_in_sync
    strategy.per_replica_batch_size(training.global_batch_size, num_replicas=num_replicas)
    steps_per_epoch = _steps_per_epoch(request)
    policy = precision.resolve_policy(training.precision)
    keras.utils.set_random_seed(request.seed)
    loss_function = functools.partial(
        losses.sparse_cross_entropy, label_smoothing=training.label_smoothing
    )
    with distribution.scope(), precision.policy_scope(policy):
        train_step = _build_step(request, distribution, loss_function, steps_per_epoch)
    validation = distribution.experimental_distribute_dataset(_validation_dataset(request))
    evaluate = evaluation.make_evaluate(train_step.model, loss_function, strategy=distribution)
    history = loop.fit(
        train_step,
        iter(distribution.experimental_distribute_dataset(_train_dataset(request))),
        lambda: evaluate(validation),
        num_epochs=training.num_epochs,
        steps_per_epoch=steps_per_epoch,
        steps_per_execution=training.steps_per_execution,
    )
    return TrainResult(
        model=train_step.model, history=history, policy=policy, num_replicas=num_replicas
    )


def _steps_per_epoch(request: TrainRequest) -> int:
    num_examples = chain.count_examples(request.train_files)
    batch_size = request.training.global_batch_size
    if batch_size > num_examples:
        raise ValueError(
            "`training.global_batch_size` must not be larger than the train split. "
            f"Received: global_batch_size={batch_size}, num_examples={num_examples}."
        )
    return num_examples // batch_size


def _build_step(
    request: TrainRequest,
    distribution: tf.distribute.Strategy,
    loss_function: step.LossFunction,
    steps_per_epoch: int,
) -> step.TrainStep:
    """Builds all that has variables; call it in the scopes of strategy and policy."""
    training = request.training
    image = request.data.image
    model = registry.build_model(
        request.model,
        image_shape=(image.height_px, image.width_px, image.channels),
        num_classes=len(request.data.label.class_names),
    )
    rate = schedule.make_schedule(
        training.schedule,
        peak=training.optimizer.learning_rate,
        total_steps=steps_per_epoch * training.num_epochs,
    )
    is_float16 = keras.config.dtype_policy().name == "mixed_float16"
    return step.TrainStep(
        model,
        optimizer.make_optimizer(training.optimizer, rate, variables=model.trainable_variables),
        loss_function,
        strategy=distribution,
        global_batch_size=training.global_batch_size,
        seed=request.seed,
        global_clipnorm=training.optimizer.global_clipnorm or None,
        scale=loss_scale.DynamicLossScale() if is_float16 else None,
    )


def _train_dataset(request: TrainRequest) -> tf.data.Dataset:
    return chain.train_dataset(
        request.train_files,
        image=request.data.image,
        input_config=request.input,
        global_batch_size=request.training.global_batch_size,
        seed=request.seed,
    )


def _validation_dataset(request: TrainRequest) -> tf.data.Dataset:
    return chain.eval_dataset(
        request.validation_files,
        image=request.data.image,
        global_batch_size=request.training.global_batch_size,
    )
