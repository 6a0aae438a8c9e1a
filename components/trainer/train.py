"""Trains the model of a recipe: joins data, strategy, precision, loop and checkpoints."""

import dataclasses

import keras

from components.trainer import (
    batches,
    checkpoints,
    execution,
    float8,
    fused_encoder,
    logs,
    loop,
    precision,
    run_length,
    session,
    strategy,
)
from components.trainer import build as builds
from components.trainer import request as train_request


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainResult:
    """What came of it.

    Attributes:
        model: The trained model, with the weights that the recipe chooses; not compiled.
        history: One record for each epoch.
        policy: The dtype policy that was used, with `float8_from_` before it where products were.
        num_replicas: Devices that worked in parallel.
        execution: How the steps were executed.
        is_writer: False on the workers of a cluster that only take part: another keeps the model.
    """

    model: keras.Model
    history: list[loop.EpochRecord]
    policy: str
    num_replicas: int
    execution: execution.Execution
    is_writer: bool = True

    def sentence(self) -> str:
        """Says how it was trained, for the report."""
        return (
            f"Precision: {self.policy}; replicas: {self.num_replicas}. {self.execution.sentence()}"
        )


def train(request: train_request.TrainRequest) -> TrainResult:
    """Trains a model from its recipe, from the beginning or from the last checkpoint.

    Args:
        request: What to train.

    Returns:
        The model and the record of the run.

    Raises:
        ValueError: If batch size, data and strategy do not fit each other.
        checkpoints.ForeignCheckpointError: If the folder holds checkpoints of another recipe.
        health.TrainingDivergedError: If the loss or a weight is not finite.
        signals.TerminatedError: If SIGTERM came; what was done is saved.
    """
    check_backend()
    steps_per_epoch = batches.count_steps_per_epoch(request)
    total_steps = steps_per_epoch * request.training.num_epochs
    run_length.warmup_steps(request.training.schedule, total_steps=total_steps)
    distribution = strategy.make_strategy(request.strategy)
    execution.check_jit(
        request.training.jit_compile, num_replicas=distribution.num_replicas_in_sync
    )
    builds.check_request(request.training, distribution, num_classes=batches.num_classes(request))
    store = checkpoints.CheckpointStore(
        request.directory / session.CHECKPOINTS_DIR,
        keep_best=request.training.checkpoints.keep_best,
    )
    checkpoint, notes = store.latest(request.run_config())
    for note in notes:
        logs.message(note)
    policy = precision.resolve_policy(request.training.precision)
    note = precision.emulation_note(request.training.precision)
    if note:
        logs.message(note)
    keras.utils.set_random_seed(request.seed)
    with distribution.scope(), precision.policy_scope(policy):
        built = builds.build(
            request.model,
            request.training,
            inputs=batches.decoder(request).inputs,
            head=batches.head(request),
            seed=request.seed,
            steps_per_epoch=steps_per_epoch,
            strategy=distribution,
        )
    run = session.Session(request, built, store, steps_per_epoch)
    history = run.go(checkpoint)
    fused_encoder.restore(built.step.model)
    model = built.step.model
    if request.training.precision == "float8":
        with distribution.scope(), precision.policy_scope(policy):
            model = _without_float8(request, model)
        policy = f"float8_from_{policy}"
    return TrainResult(
        model=model,
        history=history,
        policy=policy,
        num_replicas=distribution.num_replicas_in_sync,
        execution=run.execution,
        is_writer=distribution.extended.should_save_summary,
    )


def _without_float8(request: train_request.TrainRequest, trained: keras.Model) -> keras.Model:
    plain = builds.build_model(
        request.model,
        request.training,
        inputs=batches.decoder(request).inputs,
        head=batches.head(request),
    )
    float8.copy_weights(trained, plain)
    return plain


def check_backend() -> None:
    """Checks that no layout is set that this backend would silently ignore.

    Raises:
        ValueError: If `keras.distribution` is in use.
    """
    distribution = keras.distribution.distribution()
    if distribution is not None:
        raise ValueError(
            "`keras.distribution` has no effect on the TensorFlow backend: every device would do "
            f"all the work. Received: keras.distribution.distribution()={distribution}. Unset it "
            "with `keras.distribution.set_distribution(None)`, and name a strategy instead."
        )
