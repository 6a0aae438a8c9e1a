"""The train step: gradients on each replica, one sum, one decision, one update.

Keras' own `fit` clips, looks for overflow and accumulates before it sums over replicas, and draws
the same dropout mask on each. Here the order is: micro-batches, sum over replicas, unscale, check,
clip, update; N replicas then equal one device.

Axes: B batch, H height, W width, C channels, K classes. Batches are (images_BHWC, labels_B) or,
with a weight for each example, (images_BHWC, labels_B, weights_B).
"""

from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

from components.trainer import loss_scale, seeds

LossFunction = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
Batch = tuple[tf.Tensor, ...]
# Sums over examples, from which means are made: `loss`, `correct`, `weight`.
Totals = dict[str, tf.Tensor]


class TrainStep:
    """Trains a model by any number of steps in one call, without returning to Python between them.

    Make it in the strategy's scope. The loss is divided by the global batch size, once.

    Args:
        model: Functional model that returns `{"logits": (B, K)}`.
        optimizer: From `components.trainer.optimizer`, built for the model.
        loss_function: From (logits_BK, labels_B) to the losses (B,).
        strategy: The strategy in whose scope model and optimizer were made.
        global_batch_size: Examples per step, over all replicas.
        seed: Seed of dropout and other random layers.
        accumulation_steps: Micro-batches per step; the share of a replica must be a multiple.
        global_clipnorm: Largest norm of all gradients together; None does not clip.
        scale: Loss scaling, for float16.
        jit_compile: Compile gradients and update with XLA.
    """

    def __init__(
        self,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        loss_function: LossFunction,
        *,
        strategy: tf.distribute.Strategy,
        global_batch_size: int,
        seed: int,
        accumulation_steps: int = 1,
        global_clipnorm: float | None = None,
        scale: loss_scale.DynamicLossScale | None = None,
        jit_compile: bool = False,
    ):
        self.model = model
        self.optimizer = optimizer
        self.scale = scale
        self.global_step = tf.Variable(
            0,
            dtype=tf.int64,
            trainable=False,
            name="global_step",
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )
        self._loss_function = loss_function
        self._strategy = strategy
        self._global_batch_size = global_batch_size
        self._accumulation_steps = accumulation_steps
        self._global_clipnorm = global_clipnorm
        self._seeds = seeds.LayerSeeds(model, seed=seed)
        # With Python functions, `strategy.run` traces into the caller's graph.
        self._gradients = (
            tf.function(self._sum_gradients, jit_compile=True)
            if jit_compile
            else self._sum_gradients
        )
        self._update = (
            tf.function(self._clip_and_apply, jit_compile=True)
            if jit_compile
            else self._clip_and_apply
        )
        self._run = tf.function(self._run_steps)

    def run(self, iterator: Iterator[Any], num_steps: int) -> dict[str, float]:
        """Takes `num_steps` batches from the iterator and trains on each.

        Args:
            iterator: Of a dataset, distributed by the strategy if there is more than one replica.
            num_steps: > 0.

        Returns:
            Sums over the examples seen, `loss`, `correct` and `weight`, and the `learning_rate` of
            the last step.
        """
        totals = self._run(iterator, tf.constant(num_steps))
        return {name: float(total) for name, total in totals.items()}

    def _run_steps(self, iterator: Iterator[Any], num_steps: tf.Tensor) -> Totals:
        totals = {name: tf.zeros(()) for name in ("loss", "correct", "weight")}
        rate = tf.zeros(())
        for _ in tf.range(num_steps):
            rate = tf.convert_to_tensor(self.optimizer.learning_rate)
            batch_totals = self._one_step(next(iterator))
            totals = {name: totals[name] + batch_totals[name] for name in totals}
        return {**totals, "learning_rate": rate}

    @tf.autograph.experimental.do_not_convert
    def _one_step(self, batch: Batch) -> Totals:
        gradients, is_finite, totals = self._strategy.run(self._gradients, args=batch)
        if self.scale is None:
            self._strategy.run(self._update, args=(gradients,))
        else:
            # The same on every replica, because each looked at the sum over all of them.
            is_finite = self._strategy.experimental_local_results(is_finite)[0]
            self._update_if(is_finite, gradients, self.scale)
        self.global_step.assign_add(1)
        return {
            name: self._strategy.reduce("SUM", total, axis=None) for name, total in totals.items()
        }

    def _update_if(
        self, is_finite: tf.Tensor, gradients: list[tf.Tensor], scale: loss_scale.DynamicLossScale
    ) -> None:
        def apply() -> None:
            self._strategy.run(self._update, args=(gradients,))
            scale.grow()

        # The condition stands outside the replicas: inside one, no update may wait for the others.
        tf.cond(is_finite, apply, scale.shrink)

    def _sum_gradients(
        self, images_BHWC: tf.Tensor, labels_B: tf.Tensor, weights_B: tf.Tensor | None = None
    ) -> tuple[list[tf.Tensor], tf.Tensor, Totals]:
        if weights_B is None:
            weights_B = tf.ones_like(labels_B, tf.float32)
        context = tf.distribute.get_replica_context()
        self._seeds.set(step=self.global_step, replica=context.replica_id_in_sync_group)
        parts = [
            # Strided, so that micro-batch i holds the same examples for any number of replicas.
            self._micro_batch(images_BHWC[rows], labels_B[rows], weights_B[rows])
            for rows in (
                slice(index, None, self._accumulation_steps)
                for index in range(self._accumulation_steps)
            )
        ]
        gradients = [
            tf.add_n(summands) for summands in zip(*(part[0] for part in parts), strict=True)
        ]
        totals = tf.nest.map_structure(lambda *sums: tf.add_n(sums), *(part[1] for part in parts))
        gradients = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        if self.scale is not None:
            gradients = [gradient / self.scale.scale for gradient in gradients]
        finite = [tf.reduce_all(tf.math.is_finite(gradient)) for gradient in gradients]
        return gradients, tf.reduce_all(finite), totals

    def _micro_batch(
        self, images_BHWC: tf.Tensor, labels_B: tf.Tensor, weights_B: tf.Tensor
    ) -> tuple[list[tf.Tensor], Totals]:
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            logits_BK = self.model(images_BHWC, training=True)["logits"]
            losses_B = self._loss_function(logits_BK, labels_B) * weights_B
            loss = tf.reduce_sum(losses_B) / self._global_batch_size
            if self.model.losses:
                shares = self._strategy.num_replicas_in_sync * self._accumulation_steps
                loss += tf.add_n(self.model.losses) / shares
            if self.scale is not None:
                loss *= self.scale.scale
        gradients = tape.gradient(
            loss,
            [variable.value for variable in variables],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
        return dense, batch_totals(logits_BK, labels_B, losses_B, weights_B)

    def _clip_and_apply(self, gradients: list[tf.Tensor]) -> None:
        if self._global_clipnorm is not None:
            gradients, _ = tf.clip_by_global_norm(gradients, self._global_clipnorm)
        self.optimizer.apply(gradients, self.model.trainable_variables)


def batch_totals(
    logits_BK: tf.Tensor, labels_B: tf.Tensor, losses_B: tf.Tensor, weights_B: tf.Tensor
) -> Totals:
    """Sums what the metrics are made of; padding has weight 0 and drops out.

    Args:
        logits_BK: Scores.
        labels_B: Integers in [0, K).
        losses_B: Losses, weighted already.
        weights_B: Weight of each example.

    Returns:
        Float32 scalars `loss`, `correct` and `weight`.
    """
    is_correct_B = tf.cast(tf.argmax(logits_BK, axis=-1) == tf.cast(labels_B, tf.int64), tf.float32)
    return {
        "loss": tf.reduce_sum(losses_B),
        "correct": tf.reduce_sum(is_correct_B * weights_B),
        "weight": tf.reduce_sum(weights_B),
    }


def means(totals: dict[str, float]) -> dict[str, float]:
    """Turns sums over examples into `loss` and `accuracy`.

    >>> means({"loss": 3.0, "correct": 1.0, "weight": 2.0})
    {'loss': 1.5, 'accuracy': 0.5}
    """
    return {
        "loss": totals["loss"] / totals["weight"],
        "accuracy": totals["correct"] / totals["weight"],
    }
