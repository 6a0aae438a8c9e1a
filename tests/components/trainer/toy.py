"""A tiny problem that several tests train on.

Axes: B batch, F features.
"""

import keras
import numpy as np
import tensorflow as tf

from components.trainer import config, float8, losses, optimizer, schedule, step

BATCH_SIZE = 8


def model(*, activation=None, dropout_rate=0.0):
    """Two dense layers, with the same weights every time."""
    keras.utils.set_random_seed(1)
    inputs = keras.Input((2,), name="image")
    hidden = keras.layers.Dense(4, activation=activation, name="hidden")(inputs)
    hidden = keras.layers.Dropout(dropout_rate)(hidden)
    return keras.Model(inputs, {"logits": keras.layers.Dense(2, name="logits")(hidden)})


def dataset():
    """One batch of two separable classes."""
    features_BF = np.random.default_rng(0).normal(size=(BATCH_SIZE, 2)).astype("float32")
    return tf.data.Dataset.from_tensors((features_BF, (features_BF[:, 0] > 0).astype("int64")))


def batches():
    """The same batch for ever."""
    return iter(dataset().repeat())


def rate(learning_rate=0.1):
    """A constant learning rate whose factor can be lowered."""
    return schedule.WarmupSchedule(
        name="constant", peak=learning_rate, total_steps=10**6, warmup_steps=0
    )


def train_step(trained, *, learning_rate=0.1, scale=None, optimizer_name="sgd", **options):
    """A train step on one device."""
    settings = config.OptimizerConfig(name=optimizer_name, weight_decay=0.0)
    learning_rate = rate(learning_rate) if isinstance(learning_rate, float) else learning_rate
    return step.TrainStep(
        trained,
        optimizer.make_optimizer(
            settings, learning_rate, variables=float8.learned_variables(trained)
        ),
        losses.sparse_cross_entropy,
        strategy=tf.distribute.get_strategy(),
        options=step.StepOptions(global_batch_size=BATCH_SIZE, seed=0, **options),
        scale=scale,
    )
