"""One run, from its first or next step to its end: data, hooks, loop and checkpoints joined."""

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from components.trainer import (
    batches,
    checkpoints,
    determinism,
    evaluation,
    execution,
    health,
    logs,
    loop,
    memory_trial,
    monitors,
    saving,
    signals,
    snapshot,
    strategy,
    tensorboard,
)
from components.trainer import build as builds
from components.trainer import request as train_request
from components.trainer.diagnostics import estimate
from components.trainer.trackers import hook as tracker_hook

LOG_FILE = "log.jsonl"
CHECKPOINTS_DIR = "checkpoints"
TENSORBOARD_DIR = "tensorboard"


class Session:
    """One run from its first or next step to its end.

    Args:
        request: What to train.
        built: Model, optimizer and step.
        store: Where checkpoints are kept.
        steps_per_epoch: Steps, > 0.
    """

    def __init__(
        self,
        request: train_request.TrainRequest,
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
        train_data = self._distributed(batches.train_dataset(self._request, start_step))
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
        self, iterator: Iterator[Any], plan: loop.LoopPlan, state: loop.LoopState
    ) -> list[loop.EpochRecord]:
        saver = saving.Saver(
            self._store,
            self._built.step,
            self._built.rate,
            settings=self._request.training.checkpoints,
            best_by=self._request.training.best_by(
                predicts_numbers=self._request.data.predicts_numbers
            ),
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
        recorders = self._recorders(is_resumed=bool(state.records or state.steps_in_epoch))
        hooks += [*recorders, saver]
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
        has_finished = False
        try:
            with termination.listening():
                history = training_loop.run(iterator, termination)
            self._store.wait()
            has_finished = True
        finally:
            for recorder in recorders:
                recorder.close(has_finished=has_finished)
        return history

    def _recorders(
        self, *, is_resumed: bool
    ) -> list[tensorboard.TensorBoardLog | tracker_hook.TrackerHook]:
        if not self._is_writer:
            return []
        request = self._request
        trackers = tracker_hook.open_trackers(
            request.trackers,
            project=request.name,
            settings=request.run_config(),
            directory=request.directory,
            is_resumed=is_resumed,
            scale=self._built.step.scale,
        )
        if not request.training.tensorboard:
            return [*trackers]
        board = tensorboard.TensorBoardLog(
            request.directory / TENSORBOARD_DIR,
            self._built.step,
            request.run_config(),
            start_step=int(self._built.step.global_step.numpy()),
        )
        return [board, *trackers]

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
            if self._request.training.deterministic:
                determinism.enable(self._built.step)
            return chosen
        # First, since it looks at memory that was never used before.
        cost = self._rematerialisation_cost(train_data)
        request = self._request
        memory = None
        if request.cache_dir is not None:
            memory = execution.memory_path(request.cache_dir, request.run_config())
        chosen = execution.choose(
            self._built.step,
            self._built.rate,
            lambda: iter(train_data),
            steps_per_execution=request.training.steps_per_execution,
            jit_compile=request.training.jit_compile,
            num_steps=self._steps_per_epoch * request.training.num_epochs,
            memory=memory,
        )
        return chosen.model_copy(
            update={"rematerialisation": cost, "deterministic": self._determinism_cost(train_data)}
        )

    def _determinism_cost(self, train_data: Any) -> determinism.DeterminismCost | None:
        if not self._request.training.deterministic:
            return None
        cost = determinism.measure_and_enable(self._built.step, self._built.rate, iter(train_data))
        logs.message(cost.sentence())
        return cost

    def _rematerialisation_cost(self, train_data: Any) -> memory_trial.RematerialisationCost | None:
        # The workers of a cluster might decide differently, and would wait for each other.
        if self._built.network is None or strategy.is_cluster(self._strategy):
            return None
        cost = memory_trial.measure(
            self._built.step,
            self._built.rate,
            iter(train_data),
            network=self._built.network,
            try_without=estimate.is_plain_step_safe(
                self._request, num_replicas=self._strategy.num_replicas_in_sync
            ),
        )
        logs.message(cost.sentence())
        return cost

    def _evaluate_function(self) -> Any:
        validation = self._distributed(batches.validation_dataset(self._request))
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
