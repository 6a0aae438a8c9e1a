"""Builds all that has variables: model, optimizer, schedule and train step."""

import dataclasses
import functools

import keras
import tensorflow as tf

from components.trainer import (
    config,
    float8,
    fused_encoder,
    fused_norm,
    logs,
    loss_scale,
    losses,
    optimizer,
    rematerialisation,
    schedule,
    strategy,
)
from components.trainer import step as train_step
from models import inputs as input_specs
from models import registry
from models.blocks import heads
from models.config import ModelConfig

_MIN_NORM_BATCH = 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class Built:
    """What a run consists of.

    Attributes:
        step: Model, optimizer and everything else that changes in a step.
        rate: The learning-rate schedule.
        plain_loss: The loss without class weights, with which validation is measured.
        plateau: Settings with which the rate falls, if the schedule says so.
        network: The rematerialised model, if the recipe asks for it.
    """

    step: train_step.TrainStep
    rate: schedule.WarmupSchedule
    plain_loss: train_step.LossFunction
    plateau: config.PlateauConfig | None
    network: rematerialisation.Rematerialised | None


def check_request(
    training: config.TrainingConfig, distribution: tf.distribute.Strategy, *, num_classes: int
) -> None:
    """Checks what the recipe alone cannot know.

    Raises:
        ValueError: If the batch does not divide over the replicas, or the class weights do not fit.
    """
    strategy.per_replica_batch_size(
        training.global_batch_size,
        num_replicas=distribution.num_replicas_in_sync,
        accumulation_steps=training.accumulation_steps,
    )
    weights = training.class_weights
    if weights is not None and len(weights) != num_classes:
        raise ValueError(
            f"`training.class_weights` needs one weight for each of the {num_classes} classes. "
            f"Received: {len(weights)} weights."
        )


def build(
    model_config: ModelConfig,
    training: config.TrainingConfig,
    *,
    inputs: input_specs.InputSpec,
    head: heads.Head,
    seed: int,
    steps_per_epoch: int,
    strategy: tf.distribute.Strategy,
) -> Built:
    """Builds a run; call it in the scopes of strategy and policy.

    Args:
        model_config: The recipe's model.
        training: The recipe's training.
        inputs: What the model reads.
        head: What the model ends with.
        seed: Seed of random layers.
        steps_per_epoch: Steps, > 0.
        strategy: The strategy whose scope this is.

    Raises:
        ValueError: If a setting does not fit the model.
    """
    model = build_model(model_config, training, inputs=inputs, head=head)
    if training.precision == "float8":
        float8.switch_on(model)
    warning = small_norm_batch(model, training)
    if warning:
        logs.message(warning)
    fused_encoder.fuse(model)
    if strategy.num_replicas_in_sync == 1:
        fused_norm.fuse_batch_norms(model)
    rate = schedule.make_schedule(
        training.schedule,
        peak=training.optimizer.peak_rate(training.global_batch_size),
        total_steps=steps_per_epoch * training.num_epochs,
    )
    plain_loss = _loss(training, head)
    loss = plain_loss
    if training.class_weights is not None:
        loss = losses.with_class_weights(plain_loss, training.class_weights)
    network = rematerialisation.Rematerialised(model) if training.rematerialisation else None
    is_float16 = keras.config.dtype_policy().name == "mixed_float16"
    built_step = train_step.TrainStep(
        model,
        optimizer.make_optimizer(
            training.optimizer, rate, variables=float8.learned_variables(model)
        ),
        loss,
        strategy=strategy,
        options=train_step.StepOptions(
            global_batch_size=training.global_batch_size,
            seed=seed,
            accumulation_steps=training.accumulation_steps,
            global_clipnorm=training.optimizer.global_clipnorm or None,
            ema_momentum=training.ema_momentum,
        ),
        scale=loss_scale.DynamicLossScale() if is_float16 else None,
    )
    if network is not None:
        built_step.set_network(network)
    return Built(
        step=built_step,
        rate=rate,
        plain_loss=plain_loss,
        plateau=_plateau(training),
        network=network,
    )


def build_model(
    model_config: ModelConfig,
    training: config.TrainingConfig,
    *,
    inputs: input_specs.InputSpec,
    head: heads.Head,
) -> keras.Model:
    """Builds the model as it is exported; call it in the scopes of strategy and policy.

    Args:
        model_config: The recipe's model.
        training: The recipe's training, which says what is frozen.
        inputs: What the model reads.
        head: What the model ends with.

    Raises:
        ValueError: If a setting does not fit the model.
    """
    model = registry.build_model(model_config, inputs=inputs, head=head)
    freeze(model, training.frozen_layers)
    return model


def _loss(training: config.TrainingConfig, head: heads.Head) -> train_step.LossFunction:
    if isinstance(head, heads.Numbers):
        return losses.of_numbers(training.number_loss(), deviation=head.deviation)
    return functools.partial(losses.cross_entropy, label_smoothing=training.label_smoothing)


def freeze(model: keras.Model, prefixes: tuple[str, ...]) -> None:
    """Freezes layers by name; a frozen BatchNormalization also keeps its moving statistics.

    Args:
        model: A built model.
        prefixes: Beginnings of layer names.

    Raises:
        ValueError: If a prefix matches no layer, or nothing is left to train.
    """
    for prefix in prefixes:
        matching = [layer for layer in model.layers if layer.name.startswith(prefix)]
        if not matching:
            names = ", ".join(layer.name for layer in model.layers if layer.weights)
            raise ValueError(
                f"`training.frozen_layers` names no layer. Received: {prefix!r}. "
                f"The layers with weights are: {names}."
            )
        for layer in matching:
            layer.trainable = False
    if not model.trainable_variables:
        raise ValueError(
            "`training.frozen_layers` leaves nothing to train. "
            f"Received: frozen_layers={list(prefixes)}."
        )


def small_norm_batch(model: keras.Model, training: config.TrainingConfig) -> str:
    """Returns a warning if batch normalisation sees too few examples at once, or an empty text.

    It sees one micro-batch, over all replicas; from few examples its statistics are mostly noise
    (https://arxiv.org/abs/1803.08494).

    Args:
        model: A built model.
        training: The recipe's training.
    """
    num_examples = training.global_batch_size // training.accumulation_steps
    has_norm = any(
        isinstance(layer, keras.layers.BatchNormalization) and layer.trainable
        for layer in model.layers
    )
    if not has_norm or num_examples >= _MIN_NORM_BATCH:
        return ""
    return (
        f"Batch normalisation sees {num_examples} examples at once, and its statistics are noise "
        f"below about {_MIN_NORM_BATCH}. Raise `training.global_batch_size`, or lower "
        "`training.accumulation_steps`."
    )


def _plateau(training: config.TrainingConfig) -> config.PlateauConfig | None:
    if training.schedule.name != "reduce_on_plateau":
        return None
    return training.schedule.plateau or config.PlateauConfig()
