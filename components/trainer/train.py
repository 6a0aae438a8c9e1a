"""Trains the model of a recipe: joins data, strategy, precision, loop and checkpoints."""

import dataclasses
import pathlib
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf

from components.ingest.config import DataConfig
from components.input_pipeline import chain
from components.input_pipeline.config import InputConfig
from components.trainer import build as builds
from components.trainer import (
    checkpoints,
    evaluation,
    execution,
    health,
    logs,
    loop,
    monitors,
    precision,
    saving,
    signals,
    snapshot,
    strategy,
    tensorboard,
)
from components.trainer.config import TrainingConfig
from models.config import ModelConfig

LOG_FILE = "log.jsonl"
CHECKPOINTS_DIR = "checkpoints"
TENSORBOARD_DIR = "tensorboard"


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
        directory: Log and checkpoints; a run that was interrupted goes on from those that are
            there.
        cache_dir: Keeps what was measured about this machine; None measures anew.
        max_batches: Ends each epoch and each validation after so many batches, for a trial.
    """

    data: DataConfig
    input: InputConfig
    model: ModelConfig
    training: TrainingConfig
    seed: int
    strategy: str
    train_files: tuple[str, ...]
    validation_files: tuple[str, ...]
    directory: pathlib.Path
    cache_dir: pathlib.Path | None = None
    max_batches: int | None = None

    def run_config(self) -> dict[str, Any]:
        """Returns the settings that a continued run must have unchanged; replicas are not one."""
        return {
            "data": self.data.to_dict(),
            "input": self.input.to_dict(),
            "model": self.model.to_dict(),
            "training": self.training.to_dict(),
            "seed": self.seed,
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainResult:
    """What came of it.

    Attributes:
        model: The trained model, with the weights that the recipe chooses; not compiled.
        history: One record for each epoch.
        policy: The dtype policy that was used.
        num_replicas: Devices that worked in parallel.
        execution: How the steps were executed.
    """

    model: keras.Model
    history: list[loop.EpochRecord]
    policy: str
    num_replicas: int
    execution: execution.Execution


def train(request: TrainRequest) -> TrainResult:
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
    distribution = strategy.make_strategy(request.strategy)
    execution.check_jit(
        request.training.jit_compile, num_replicas=distribution.num_replicas_in_sync
    )
    builds.check_request(request.training, distribution, num_classes=_num_classes(request))
    steps_per_epoch = count_steps_per_epoch(request)
    store = checkpoints.CheckpointStore(
        request.directory / CHECKPOINTS_DIR, keep_best=request.training.checkpoints.keep_best
    )
    checkpoint, notes = store.latest(request.run_config())
    for note in notes:
        logs.message(note)
    policy = precision.resolve_policy(request.training.precision)
    keras.utils.set_random_seed(request.seed)
    with distribution.scope(), precision.policy_scope(policy):
        built = builds.build(
            request.model,
            request.training,
            image_shape=image_shape(request),
            num_classes=_num_classes(request),
            seed=request.seed,
            steps_per_epoch=steps_per_epoch,
            strategy=distribution,
        )
    run = _Run(request, built, store, steps_per_epoch)
    history = run.go(checkpoint)
    return TrainResult(
        model=built.step.model,
        history=history,
        policy=policy,
        num_replicas=distribution.num_replicas_in_sync,
        execution=run.execution,
    )


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


class _Run:
    """One run from its first or next step to its end.

    Args:
        request: What to train.
        built: Model, optimizer and step.
        store: Where checkpoints are kept.
        steps_per_epoch: Steps, > 0.
    """

    def __init__(
        self,
        request: TrainRequest,
        built: builds.Built,
        store: checkpoints.CheckpointStore,
        steps_per_epoch: int,
    ):
        self._request = request
        self._built = built
        self._store = store
        self._steps_per_epoch = steps_per_epoch
        self._strategy = built.step.strategy
        self._is_writer = self._strategy.extended.should_save_summary
        name = LOG_FILE if self._is_writer else f"worker-{_worker_index()}.jsonl"
        self._log = logs.JsonLog(request.directory / name, scale=built.step.scale)

    def go(self, checkpoint: checkpoints.Checkpoint | None) -> list[loop.EpochRecord]:
        """Trains to the end and puts the chosen weights into the model."""
        start_step = 0 if checkpoint is None else checkpoint.global_step
        train_data = self._distributed(train_dataset(self._request, start_step))
        self.execution = self._choose_execution(train_data, checkpoint)
        plan = self._plan()
        if checkpoint is None:
            self._log.truncate(0)
            state = loop.LoopState()
        else:
            state = saving.resume(checkpoint, self._built.step, self._built.rate, plan, self._log)
        history = self._loop(iter(train_data), plan, state)
        self._choose_weights()
        self._log.close()
        return history

    def _loop(
        self, batches: Iterator[Any], plan: loop.LoopPlan, state: loop.LoopState
    ) -> list[loop.EpochRecord]:
        saver = saving.Saver(
            self._store,
            self._built.step,
            self._built.rate,
            settings=self._request.training.checkpoints,
            run_config=self._request.run_config(),
            execution=self.execution.to_dict(),
            log=self._log,
            is_writer=self._is_writer,
        )
        hooks: list[loop.Hook] = [
            health.HealthCheck(
                self._built.step,
                last_checkpoint=f" Good checkpoints are in {self._store.directory}.",
            ),
            self._log,
            logs.ProgressReport(plan.num_epochs),
        ]
        board = self._tensorboard()
        if board is not None:
            hooks.append(board)
        hooks.append(saver)
        training_loop = loop.Loop(
            self._built.step,
            self._built.rate,
            plan,
            evaluate=self._evaluate_function(),
            hooks=hooks,
            state=state,
        )
        saver.attach(training_loop, plan)
        termination = signals.Termination(saver.save_now)
        with termination.listening():
            history = training_loop.run(batches, termination)
        self._store.wait()
        if board is not None:
            board.close()
        return history

    def _tensorboard(self) -> tensorboard.TensorBoardLog | None:
        if not (self._request.training.tensorboard and self._is_writer):
            return None
        return tensorboard.TensorBoardLog(
            self._request.directory / TENSORBOARD_DIR,
            self._built.step,
            self._request.run_config(),
            start_step=int(self._built.step.global_step.numpy()),
        )

    def _plan(self) -> loop.LoopPlan:
        training = self._request.training
        stopping = training.early_stopping
        plateau = self._built.plateau
        return loop.LoopPlan(
            num_epochs=training.num_epochs,
            steps_per_epoch=self._steps_per_epoch,
            steps_per_execution=self.execution.steps_per_execution,
            early_stopping=None if stopping is None else monitors.EarlyStopping(stopping),
            plateau=None if plateau is None else monitors.Plateau(plateau),
        )

    def _choose_execution(
        self, train_data: Any, checkpoint: checkpoints.Checkpoint | None
    ) -> execution.Execution:
        if checkpoint is not None:
            chosen = execution.Execution.from_dict(checkpoint.loop["execution"])
            self._built.step.set_jit(chosen.jit_compile)
            return chosen
        request = self._request
        memory = None
        if request.cache_dir is not None:
            memory = execution.memory_path(request.cache_dir, request.run_config())
        return execution.choose(
            self._built.step,
            self._built.rate,
            lambda: iter(train_data),
            steps_per_execution=request.training.steps_per_execution,
            jit_compile=request.training.jit_compile,
            num_steps=self._steps_per_epoch * request.training.num_epochs,
            memory=memory,
        )

    def _evaluate_function(self) -> Any:
        validation = self._distributed(validation_dataset(self._request))
        evaluate = evaluation.make_evaluate(
            self._built.step.model, self._built.plain_loss, strategy=self._strategy
        )
        average = self._built.step.average

        def measure() -> dict[str, float]:
            if average is None:
                return evaluate(validation)
            with average.swapped_in(self._strategy):
                return evaluate(validation)

        return measure

    def _choose_weights(self) -> None:
        if self._request.training.final_weights == "best":
            best = self._store.best()
            if best is not None:
                snapshot.put_back(self._built.step, self._built.rate, best.arrays)
        if self._built.step.average is not None:
            self._built.step.average.copy_to_model(self._strategy)

    def _distributed(self, dataset: tf.data.Dataset) -> Any:
        return self._strategy.experimental_distribute_dataset(dataset)


def _worker_index() -> int:
    return tf.distribute.cluster_resolver.TFConfigClusterResolver().task_id or 0


def _num_classes(request: TrainRequest) -> int:
    return len(request.data.class_names)


def image_shape(request: TrainRequest) -> tuple[int, int, int]:
    """Returns (height, width, channels) of the images."""
    image = request.data.image_feature()
    return image.height_px, image.width_px, image.channels


def count_examples(request: TrainRequest) -> int:
    """Returns the number of examples of the train split."""
    return chain.count_examples(request.train_files)


def count_steps_per_epoch(request: TrainRequest) -> int:
    """Returns the steps of one pass over the train split; a part of a batch is left for the next.

    Raises:
        ValueError: If the batch is larger than the split.
    """
    num_examples = count_examples(request)
    chain.check_batch_size(request.training.global_batch_size, num_rows=num_examples)
    steps = num_examples // request.training.global_batch_size
    return steps if request.max_batches is None else min(steps, request.max_batches)


def train_dataset(request: TrainRequest, start_step: int = 0) -> tf.data.Dataset:
    """Returns endless batches (images_BHWC, labels_B), a function of seed and step.

    Args:
        request: What to train.
        start_step: Global step of the first batch, >= 0.
    """
    return chain.train_dataset(
        request.train_files,
        image=request.data.image_feature(),
        input_config=request.input,
        global_batch_size=request.training.global_batch_size,
        seed=request.seed,
        start_step=start_step,
    )


def validation_dataset(request: TrainRequest) -> tf.data.Dataset:
    """Returns the validation split once, in batches of one shape, padding with weight 0."""
    dataset = chain.eval_dataset(
        request.validation_files,
        image=request.data.image_feature(),
        global_batch_size=request.training.global_batch_size,
    )
    return dataset if request.max_batches is None else dataset.take(request.max_batches)
