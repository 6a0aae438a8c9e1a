"""Metrics as sums over examples: they add up over batches, replicas and workers exactly.

Axes: B batch, K classes.
"""

import tensorflow as tf

# Float32 scalars `loss`, `correct` and `weight`, summed over examples.
Totals = dict[str, tf.Tensor]


def zero_totals() -> Totals:
    """Returns the sums over no examples."""
    return {name: tf.zeros(()) for name in ("loss", "correct", "weight")}


def batch_totals(
    logits_BK: tf.Tensor, labels: tf.Tensor, losses_B: tf.Tensor, weights_B: tf.Tensor
) -> Totals:
    """Sums what the metrics are made of; padding has weight 0 and drops out.

    Args:
        logits_BK: Scores.
        labels: Integers in [0, K), (B,), or shares of the classes, (B, K); an example counts as
            correct that is given the class with the largest share.
        losses_B: Losses, weighted already.
        weights_B: Weight of each example.
    """
    classes_B = tf.argmax(labels, axis=-1) if len(labels.shape) == 2 else tf.cast(labels, tf.int64)
    is_correct_B = tf.cast(tf.argmax(logits_BK, axis=-1) == classes_B, tf.float32)
    return {
        "loss": tf.reduce_sum(losses_B),
        "correct": tf.reduce_sum(is_correct_B * weights_B),
        "weight": tf.reduce_sum(weights_B),
    }


def sum_over_replicas(totals: Totals, strategy: tf.distribute.Strategy) -> Totals:
    """Adds up what `strategy.run` returned; call it outside the replicas."""
    return {name: strategy.reduce("SUM", total, axis=None) for name, total in totals.items()}


def means(totals: dict[str, float]) -> dict[str, float]:
    """Turns sums over examples into `loss` and `accuracy`.

    >>> means({"loss": 3.0, "correct": 1.0, "weight": 2.0})
    {'loss': 1.5, 'accuracy': 0.5}
    """
    return {
        "loss": totals["loss"] / totals["weight"],
        "accuracy": totals["correct"] / totals["weight"],
    }
