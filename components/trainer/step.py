"""The train step: gradients on each replica, one sum, one decision, one update.

Keras' own `fit` clips, looks for overflow and accumulates before it sums over replicas, and draws
the same dropout mask on each. Here the order is: micro-batches, sum over replicas, unscale, check,
clip, update; N replicas then equal one device.

Axes: B batch, K classes, N numbers, V learned variables. Batches are (inputs, answers) or, with a
weight for each example, (inputs, answers, weights_B). Answers are integer labels (B,), shares of
the classes (B, K) where examples are mixed, or targets (B, N).
"""

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

from components.trainer import averages, float8, loss_scale, metrics, seeds

# One tensor, or a dict of them, each with the batch as its first axis.
Inputs = Any
LossFunction = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
# Called as the model is, with `training`; answers as it does.
Network = Callable[..., dict[str, tf.Tensor]]
Batch = tuple[tf.Tensor, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepOptions:
    """How a step is taken.

    Attributes:
        global_batch_size: Examples per step, over all replicas.
        seed: Seed of dropout and other random layers.
        accumulation_steps: Micro-batches per step; the share of a replica must be a multiple.
        global_clipnorm: Largest norm of all gradients together; None does not clip.
        ema_momentum: Momentum of the moving average of the weights; None keeps no average.
        jit_compile: Compile gradients and update with XLA.
    """

    global_batch_size: int
    seed: int
    accumulation_steps: int = 1
    global_clipnorm: float | None = None
    ema_momentum: float | None = None
    jit_compile: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepsReport:
    """What one call of `TrainStep.run` did.

    Attributes:
        totals: Sums over the examples seen, as `metrics.means` takes them.
        learning_rate: Rate of the last step.
        wait_secs: Time in which the step waited for its batch.
        gradient_norms: Path of each learned variable -> norm of its gradient in the last step,
            before clipping.
        dead_shares: Path -> share of its output units whose gradient was exactly 0.
    """

    totals: dict[str, float]
    learning_rate: float
    wait_secs: float
    gradient_norms: dict[str, float]
    dead_shares: dict[str, float]


class TrainStep:
    """Trains a model by any number of steps in one call, without returning to Python between them.

    Make it in the strategy's scope. The loss is divided by the global batch size, once.

    Args:
        model: Functional model that returns `{"logits": (B, K)}` or `{"predictions": (B, N)}`.
        optimizer: From `components.trainer.optimizer`, built for the model.
        loss_function: From outputs and answers to the losses (B,).
        strategy: The strategy in whose scope model and optimizer were made.
        options: How a step is taken.
        scale: Loss scaling, for float16.
    """

    def __init__(
        self,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        loss_function: LossFunction,
        *,
        strategy: tf.distribute.Strategy,
        options: StepOptions,
        scale: loss_scale.DynamicLossScale | None = None,
    ):
        self.model = model
        self.optimizer = optimizer
        self.strategy = strategy
        self.scale = scale
        self.global_step = tf.Variable(
            0,
            dtype=tf.int64,
            trainable=False,
            name="global_step",
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )
        self.average = None
        if options.ema_momentum is not None:
            self.average = averages.WeightAverage(model, momentum=options.ema_momentum)
        self._loss_function = loss_function
        self._measure = metrics.measure_of(model)
        self._options = options
        self._learned = float8.learned_variables(model)
        self._scaling = float8.scaling_variables(model)
        self._seeds = seeds.LayerSeeds(model, seed=options.seed)
        self._network: Network = model
        self._clock: Callable[[], tf.Tensor] = tf.timestamp
        self.set_jit(options.jit_compile)

    def set_jit(self, jit_compile: bool) -> None:
        """Chooses whether XLA compiles the step; the next call traces anew."""
        self._jit_compile = jit_compile
        self._gradients = self._sum_gradients
        self._update = self._clip_and_apply
        if jit_compile:
            self._gradients = tf.function(self._sum_gradients, jit_compile=True)
            self._update = tf.function(self._clip_and_apply, jit_compile=True)
        self._run = tf.function(self._run_steps)

    def set_network(self, network: Network) -> None:
        """Chooses what computes the forward pass over the model's weights; the next call traces.

        Args:
            network: The model itself, or it rematerialised.
        """
        self._network = network
        self.set_jit(self._jit_compile)

    def avoid_tensorflows_clock(self) -> None:
        """Measures the wait by Python's clock: deterministic operations refuse TensorFlow's."""
        self._clock = _python_clock
        self.set_jit(self._jit_compile)

    @property
    def num_traces(self) -> int:
        """How often the step was traced; more than once means that shapes or types changed."""
        return self._run.experimental_get_tracing_count()

    def run(self, iterator: Iterator[Any], num_steps: int) -> StepsReport:
        """Takes `num_steps` batches from the iterator and trains on each.

        Args:
            iterator: Of a dataset, distributed by the strategy if there is more than one replica.
            num_steps: > 0.
        """
        totals, rate, wait_secs, watched_V2 = self._run(iterator, tf.constant(num_steps))
        paths = [variable.path for variable in self._learned]
        norms_V, dead_V = watched_V2.numpy().T.tolist()
        return StepsReport(
            totals={name: float(total) for name, total in totals.items()},
            learning_rate=float(rate),
            wait_secs=float(wait_secs),
            gradient_norms=dict(zip(paths, norms_V, strict=True)),
            dead_shares=dict(zip(paths, dead_V, strict=True)),
        )

    def _run_steps(
        self, iterator: Iterator[Any], num_steps: tf.Tensor
    ) -> tuple[metrics.Totals, tf.Tensor, tf.Tensor, tf.Tensor]:
        totals = metrics.zero_totals(self._measure)
        rate = tf.zeros(())
        wait_secs = tf.zeros((), tf.float64)
        watched_V2 = tf.zeros((len(self._learned), 2))
        for index in tf.range(num_steps):
            batch, waited = self._next_batch(iterator, totals)
            wait_secs += waited
            rate = tf.convert_to_tensor(self.optimizer.learning_rate)
            part, watched_V2 = self._one_step(batch, index == num_steps - 1)
            totals = {name: totals[name] + part[name] for name in totals}
        return totals, rate, wait_secs, watched_V2

    @tf.autograph.experimental.do_not_convert
    def _next_batch(
        self, iterator: Iterator[Any], totals: metrics.Totals
    ) -> tuple[Batch, tf.Tensor]:
        # The clock has no inputs, so that only control dependencies put it in its place.
        with tf.control_dependencies(list(totals.values())):
            started = self._clock()
        with tf.control_dependencies([started]):
            batch = next(iterator)
        with tf.control_dependencies(tf.nest.flatten(batch, expand_composites=True)):
            return batch, self._clock() - started

    @tf.autograph.experimental.do_not_convert
    def _one_step(self, batch: Batch, is_watched: tf.Tensor) -> tuple[metrics.Totals, tf.Tensor]:
        gradients, scaling, is_finite, totals = self.strategy.run(self._gradients, args=batch)
        if self.scale is None:
            self._apply(gradients)
        else:
            # The same on every replica, because each looked at the sum over all of them.
            is_finite = self.strategy.experimental_local_results(is_finite)[0]
            self._apply_if(is_finite, gradients, self.scale)
        for variable, value in zip(self._scaling, scaling, strict=True):
            self.strategy.extended.update(variable.value, _overwrite, args=(value,))
        self.global_step.assign_add(1)
        local = [self.strategy.experimental_local_results(gradient)[0] for gradient in gradients]
        watched_V2 = tf.cond(is_watched, lambda: _watch(local), lambda: tf.zeros((len(local), 2)))
        return metrics.sum_over_replicas(totals, self.strategy), watched_V2

    def _apply(self, gradients: list[tf.Tensor]) -> None:
        self.strategy.run(self._update, args=(gradients,))
        if self.average is not None:
            self.average.update(self.optimizer.iterations, self.strategy)

    def _apply_if(
        self, is_finite: tf.Tensor, gradients: list[tf.Tensor], scale: loss_scale.DynamicLossScale
    ) -> None:
        def apply() -> None:
            self._apply(gradients)
            scale.grow()

        # The condition stands outside the replicas: inside one, no update may wait for the others.
        tf.cond(is_finite, apply, scale.shrink)

    def _sum_gradients(
        self, inputs: Inputs, answers: tf.Tensor, weights_B: tf.Tensor | None = None
    ) -> tuple[list[tf.Tensor], list[tf.Tensor], tf.Tensor, metrics.Totals]:
        if weights_B is None:
            weights_B = tf.ones(tf.shape(answers)[:1])
        context = tf.distribute.get_replica_context()
        self._seeds.set(step=self.global_step, replica=context.replica_id_in_sync_group)
        num_parts = self._options.accumulation_steps
        parts = [
            # Strided, so that micro-batch i holds the same examples for any number of replicas.
            self._micro_batch(
                tf.nest.map_structure(lambda values, i=i: values[i::num_parts], inputs),
                answers[i::num_parts],
                weights_B[i::num_parts],
            )
            for i in range(num_parts)
        ]
        gradients = [
            tf.add_n(summands) for summands in zip(*(part[0] for part in parts), strict=True)
        ]
        scaling = float8.largest_of_parts([part[1] for part in parts])
        totals = tf.nest.map_structure(lambda *sums: tf.add_n(sums), *(part[2] for part in parts))
        gradients = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        scaling = float8.largest_over_replicas(scaling, context)
        if self.scale is None:
            # Nothing is skipped then: the health check ends the run instead.
            return gradients, scaling, tf.constant(True), totals
        gradients = [gradient / self.scale.scale for gradient in gradients]
        finite = [tf.reduce_all(tf.math.is_finite(gradient)) for gradient in gradients]
        return gradients, scaling, tf.reduce_all(finite), totals

    def _micro_batch(
        self, inputs: Inputs, answers: tf.Tensor, weights_B: tf.Tensor
    ) -> tuple[list[tf.Tensor], list[tf.Tensor], metrics.Totals]:
        with tf.GradientTape() as tape:
            outputs = self._network(inputs, training=True)[self._measure.output_name]
            losses_B = self._loss_function(outputs, answers) * weights_B
            loss = tf.reduce_sum(losses_B) / self._options.global_batch_size
            if self.model.losses:
                shares = self.strategy.num_replicas_in_sync * self._options.accumulation_steps
                loss += tf.add_n(self.model.losses) / shares
            if self.scale is not None:
                loss *= self.scale.scale
        gradients, scaling = tape.gradient(
            loss,
            (
                [variable.value for variable in self._learned],
                [variable.value for variable in self._scaling],
            ),
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
        return dense, scaling, self._measure.batch_totals(outputs, answers, losses_B, weights_B)

    def _clip_and_apply(self, gradients: list[tf.Tensor]) -> None:
        if self._options.global_clipnorm is not None:
            gradients, _ = tf.clip_by_global_norm(gradients, self._options.global_clipnorm)
        self.optimizer.apply(gradients, self._learned)


def _overwrite(variable: tf.Variable, value: tf.Tensor) -> None:
    variable.assign(value)


def _python_clock() -> tf.Tensor:
    return tf.ensure_shape(tf.numpy_function(time.time, [], tf.float64), ())


def _watch(gradients: list[tf.Tensor]) -> tf.Tensor:
    """Returns (V, 2): norm of each gradient, and share of output units in which it is 0."""
    norms = [tf.norm(tf.cast(gradient, tf.float32)) for gradient in gradients]
    dead = [
        tf.reduce_mean(
            tf.cast(
                tf.reduce_all(gradient == 0, axis=list(range(gradient.shape.rank - 1))), tf.float32
            )
        )
        for gradient in gradients
    ]
    return tf.stack([tf.stack(norms), tf.stack(dead)], axis=1)
