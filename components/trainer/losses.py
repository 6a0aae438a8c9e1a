"""Losses per example, so that weights and padding can be applied before the sum.

Axes: B batch, K classes, N numbers.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import tensorflow as tf


def sparse_cross_entropy(
    logits_BK: tf.Tensor, labels_B: tf.Tensor, *, label_smoothing: float = 0.0
) -> tf.Tensor:
    """Cross-entropy of integer labels, with the label smoothing that Keras has for one-hot ones.

    Smoothing moves that share of the target evenly to all classes
    (https://arxiv.org/abs/1512.00567); it is computed without a one-hot tensor.

    Args:
        logits_BK: Scores before the softmax.
        labels_B: Integers in [0, K).
        label_smoothing: In [0, 1).

    Returns:
        The loss of each example, float32 (B,), whatever the dtype of the logits.

    >>> sparse_cross_entropy(tf.zeros((3, 1)), tf.constant([0, 0, 0])).numpy().tolist()
    [0.0, 0.0, 0.0]
    """
    logits_BK = tf.cast(logits_BK, tf.float32)
    losses_B = tf.nn.sparse_softmax_cross_entropy_with_logits(labels_B, logits_BK)
    if label_smoothing == 0.0:
        return losses_B
    uniform_B = -tf.reduce_mean(tf.nn.log_softmax(logits_BK), axis=-1)
    return (1.0 - label_smoothing) * losses_B + label_smoothing * uniform_B


def soft_cross_entropy(
    logits_BK: tf.Tensor, labels_BK: tf.Tensor, *, label_smoothing: float = 0.0
) -> tf.Tensor:
    """Cross-entropy of labels that are shared among classes, as mixed examples have them.

    It is linear in the labels: the loss of a mixture is the mixture of the losses
    (https://arxiv.org/abs/1710.09412), whatever the labels sum to.

    Args:
        logits_BK: Scores before the softmax.
        labels_BK: Share of each class, >= 0.
        label_smoothing: In [0, 1).

    Returns:
        The loss of each example, float32 (B,), whatever the dtype of the logits.

    >>> soft_cross_entropy(tf.zeros((1, 1)), tf.constant([[1.0]])).numpy().tolist()
    [-0.0]
    """
    log_BK = tf.nn.log_softmax(tf.cast(logits_BK, tf.float32))
    sums_B1 = tf.reduce_sum(labels_BK, axis=-1, keepdims=True)
    uniform_BK = sums_B1 / tf.cast(tf.shape(labels_BK)[-1], tf.float32)
    targets_BK = (1.0 - label_smoothing) * labels_BK + label_smoothing * uniform_BK
    return -tf.reduce_sum(targets_BK * log_BK, axis=-1)


def cross_entropy(
    logits_BK: tf.Tensor, labels: tf.Tensor, *, label_smoothing: float = 0.0
) -> tf.Tensor:
    """Cross-entropy of integer labels (B,), or of shares of the classes (B, K).

    Args:
        logits_BK: Scores before the softmax.
        labels: As `sparse_cross_entropy` or `soft_cross_entropy` takes them.
        label_smoothing: In [0, 1).

    Returns:
        The loss of each example, float32 (B,), whatever the dtype of the logits.
    """
    of_kind = soft_cross_entropy if len(labels.shape) == 2 else sparse_cross_entropy
    return of_kind(logits_BK, labels, label_smoothing=label_smoothing)


def with_class_weights(
    loss_function: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], class_weights: Sequence[float]
) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    """Multiplies each example's loss by the weight of its class, as for training on rare classes.

    A mixed example's loss is the mixture of the weighted losses.

    Args:
        loss_function: From (logits_BK, labels) to the losses (B,), such as `cross_entropy`.
        class_weights: One weight for each of the K classes, >= 0.

    Returns:
        A loss function of the same kind.
    """

    def weighted(logits_BK: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        weights_K = tf.constant(class_weights, tf.float32)
        if len(labels.shape) == 2:
            return loss_function(logits_BK, labels * weights_K)
        return loss_function(logits_BK, labels) * tf.gather(weights_K, labels)

    return weighted


def of_numbers(
    name: Literal["mse", "mae", "huber"], *, deviation: float
) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    """Makes a loss of numbers, in deviations of the target, so that its unit does not matter.

    Clipping and learning rate then mean the same for a fare in dollars and for a demand in
    megawatts. `huber` is quadratic up to one deviation and linear beyond
    (https://doi.org/10.1214/aoms/1177703732), so that a few outliers do not rule.

    Args:
        name: Squared, absolute or Huber's error.
        deviation: Of the target over the training split, > 0.

    Returns:
        From (predictions_BN, targets_BN), both in the target's unit, to the mean over the numbers
        of each example, float32 (B,).

    >>> loss = of_numbers("huber", deviation=10.0)
    >>> loss(tf.constant([[0.0, 0.0]]), tf.constant([[5.0, 20.0]])).numpy().tolist()
    [0.8125]
    """

    def loss(predictions_BN: tf.Tensor, targets_BN: tf.Tensor) -> tf.Tensor:
        errors_BN = (tf.cast(predictions_BN, tf.float32) - targets_BN) / deviation
        sizes_BN = tf.abs(errors_BN)
        if name == "mse":
            return tf.reduce_mean(tf.square(errors_BN), axis=-1)
        if name == "mae":
            return tf.reduce_mean(sizes_BN, axis=-1)
        inner_BN = tf.minimum(sizes_BN, 1.0)
        return tf.reduce_mean(inner_BN * (sizes_BN - 0.5 * inner_BN), axis=-1)

    return loss
