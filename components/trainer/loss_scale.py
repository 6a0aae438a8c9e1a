"""Dynamic loss scaling for float16, decided once for all replicas."""

import tensorflow as tf

_INITIAL_SCALE = 2.0**15
_GROWTH_STEPS = 2000


class DynamicLossScale:
    """Scales the loss so that small gradients survive float16; halves on overflow, doubles later.

    Keras' `LossScaleOptimizer` looks at the gradients of replica 0 alone, so that an overflow
    elsewhere destroys every weight. Here the train step looks at the sum over the replicas, in
    which any non-finite value shows, and calls `grow` or `shrink` outside the replicas.

    Args:
        initial_scale: First factor, > 0.
        growth_steps: Finite steps in a row after which the factor doubles, > 0.
    """

    def __init__(self, *, initial_scale: float = _INITIAL_SCALE, growth_steps: int = _GROWTH_STEPS):
        self._growth_steps = growth_steps
        options = {"trainable": False, "aggregation": tf.VariableAggregation.ONLY_FIRST_REPLICA}
        self.scale = tf.Variable(initial_scale, dtype=tf.float32, name="loss_scale", **options)
        self.good_steps = tf.Variable(0, dtype=tf.int64, name="loss_scale_good_steps", **options)

    @property
    def variables(self) -> list[tf.Variable]:
        """The factor and the count of finite steps, for checkpoints."""
        return [self.scale, self.good_steps]

    def grow(self) -> None:
        """Counts a finite step; doubles the factor after enough of them."""
        count = self.good_steps + 1
        is_due = count >= self._growth_steps
        self.scale.assign(tf.where(is_due, self.scale * 2.0, self.scale))
        self.good_steps.assign(tf.where(is_due, tf.zeros_like(count), count))

    def shrink(self) -> None:
        """Halves the factor after a non-finite step, which is skipped."""
        self.scale.assign(self.scale * 0.5)
        self.good_steps.assign(tf.zeros_like(self.good_steps))
