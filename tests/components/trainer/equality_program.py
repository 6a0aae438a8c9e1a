"""Trains every case of the equality table on N replicas and writes the weights; run as a process.

TensorFlow fixes the number of logical devices once per process, so that each count needs its own.

    python equality_program.py NUM_REPLICAS OUTPUT.npz

With TF_CONFIG set it is one worker of a cluster, and NUM_REPLICAS counts the whole cluster.
"""

import functools
import os
import sys

import keras
import numpy as np
import tensorflow as tf

from components.trainer import (
    config,
    evaluation,
    float8,
    loss_scale,
    losses,
    optimizer,
    precision,
    rematerialisation,
    schedule,
    seeds,
    step,
    strategy,
)
from models.blocks import heads, residual

NUM_STEPS = 20
BATCH_SIZE = 32
NUM_CLASSES = 5
SEED = 11
TARGETS = heads.Numbers(num_numbers=3, mean=50.0, deviation=7.0)

_ADAMW = {"name": "adamw", "learning_rate": 3e-3, "weight_decay": 0.05, "global_clipnorm": 0.05}
_SGD = {"name": "sgd", "learning_rate": 0.05, "weight_decay": 0.0, "global_clipnorm": 0.0}
# Dividing by a standard deviation of 0.1 enlarges rounding errors as it does gradients.
_SLOW_SGD = {**_SGD, "learning_rate": 0.01}

CASES = {
    "sgd": {"optimizer": _SGD},
    "adamw_decay_clip": {"optimizer": _ADAMW},
    "accumulation": {"optimizer": _SGD, "accumulation_steps": 4},
    "batch_norm": {"optimizer": _SLOW_SGD, "norm": True},
    "batch_norm_accumulation": {"optimizer": _SLOW_SGD, "norm": True, "accumulation_steps": 4},
    "ema": {"optimizer": _ADAMW, "ema_momentum": 0.9},
    "label_smoothing": {"optimizer": _SGD, "label_smoothing": 0.2},
    "weights": {"optimizer": _SGD, "weighted": True},
    "schedule_loop": {"optimizer": _ADAMW, "steps_per_execution": 8, "schedule": "one_cycle"},
    "numbers": {"optimizer": _ADAMW, "numbers": True, "weighted": True, "accumulation_steps": 2},
    "rematerialisation": {"optimizer": _SLOW_SGD, "norm": True, "rematerialisation": True},
    "mixed_float16": {"optimizer": _ADAMW, "precision": "mixed_float16"},
    "float8": {"optimizer": _ADAMW, "float8": True, "accumulation_steps": 2, "ema_momentum": 0.9},
    # An example that only the last replica sees overflows.
    "float16_overflow": {"optimizer": _ADAMW, "precision": "mixed_float16", "bad_example": 127},
}


def batches(*, weighted, bad_example=None, numbers=False):
    """The same batches in the same order for any number of replicas."""
    generator = np.random.default_rng(5)
    size = NUM_STEPS * BATCH_SIZE
    labels_N = generator.integers(0, NUM_CLASSES, size)
    images_NHWC = generator.normal(128, 40, (size, 4, 4, 2)).astype("float32")
    images_NHWC[:, 0, 0, 0] += 60.0 * labels_N
    if bad_example is not None:
        images_NHWC[bad_example] = np.inf
    answers_N = labels_N
    if numbers:
        answers_N = generator.normal(TARGETS.mean, TARGETS.deviation, (size, 3)).astype("float32")
    arrays = (images_NHWC, answers_N)
    if weighted:
        arrays += (generator.uniform(0, 2, size).astype("float32"),)
    return tf.data.Dataset.from_tensor_slices(arrays).batch(BATCH_SIZE, drop_remainder=True)


def build_model(*, norm, numbers):
    """A small network of convolution, optional normalisation and two dense layers."""
    inputs = keras.Input((4, 4, 2), name="image")
    x = keras.layers.Rescaling(1 / 255)(inputs)
    x = keras.layers.Conv2D(6, 3, padding="same")(x)
    if norm:
        x = residual.batch_norm(x, name="norm")
    # Smooth, because a ReLU whose input is a rounding error from 0 has no one gradient.
    x = keras.layers.Flatten()(keras.layers.Activation("gelu")(x))
    x = keras.layers.Dense(8, activation="tanh")(x)
    head = TARGETS if numbers else heads.Classes(num_classes=NUM_CLASSES)
    return heads.finish("small", inputs, x, head=head, dropout_rate=0.0)


def train(case, distribution):
    """Trains one case for twenty steps and returns what must not depend on the replica count."""
    keras.utils.set_random_seed(SEED)
    settings = config.OptimizerConfig(**case["optimizer"])
    numbers = case.get("numbers", False)
    loss_function = functools.partial(
        losses.sparse_cross_entropy, label_smoothing=case.get("label_smoothing", 0.0)
    )
    if numbers:
        loss_function = losses.of_numbers("huber", deviation=TARGETS.deviation)
    with distribution.scope(), precision.policy_scope(case.get("precision", "float32")):
        model = build_model(norm=case.get("norm", False), numbers=numbers)
        if case.get("float8"):
            float8.switch_on(model)
        rate = schedule.make_schedule(
            config.ScheduleConfig(name=case.get("schedule", "cosine"), warmup_share=0.2),
            peak=settings.learning_rate,
            total_steps=NUM_STEPS,
        )
        train_step = step.TrainStep(
            model,
            optimizer.make_optimizer(settings, rate, variables=float8.learned_variables(model)),
            loss_function,
            strategy=distribution,
            options=step.StepOptions(
                global_batch_size=BATCH_SIZE,
                seed=SEED,
                accumulation_steps=case.get("accumulation_steps", 1),
                global_clipnorm=settings.global_clipnorm or None,
                ema_momentum=case.get("ema_momentum"),
            ),
            scale=loss_scale.DynamicLossScale() if "precision" in case else None,
        )
    if case.get("rematerialisation"):
        with distribution.scope():
            train_step.set_network(rematerialisation.Rematerialised(model))
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    dataset = batches(
        weighted=case.get("weighted", False),
        bad_example=case.get("bad_example"),
        numbers=numbers,
    ).with_options(options)
    iterator = iter(distribution.experimental_distribute_dataset(dataset))
    in_one_call = case.get("steps_per_execution", 4)
    for done in range(0, NUM_STEPS, in_one_call):
        report = train_step.run(iterator, min(in_one_call, NUM_STEPS - done))
    if train_step.average is not None:
        train_step.average.copy_to_model(distribution)
    evaluate = evaluation.make_evaluate(model, loss_function, strategy=distribution)
    # Seven batches of 30 examples, of which the last is mostly padding.
    weighted = batches(weighted=True, numbers=numbers).unbatch().take(182)
    shapes = ((4, 4, 2), (3,) if numbers else (), ())
    padded = weighted.padded_batch(32, padded_shapes=shapes).with_options(options)
    measured = evaluate(distribution.experimental_distribute_dataset(padded))
    result = {f"weight{i}": value for i, value in enumerate(model.get_weights())}
    result.update({f"total_{name}": np.float64(value) for name, value in report.totals.items()})
    result.update({f"measured_{name}": np.float64(value) for name, value in measured.items()})
    result["num_updates"] = np.array(train_step.optimizer.iterations.numpy())
    if train_step.scale is not None:
        result["loss_scale"] = train_step.scale.scale.numpy()
    result["dropout_masks"] = _dropout_masks(distribution)
    return result


def _dropout_masks(distribution):
    """Returns the mask of each local replica in step 3 (R, 64)."""
    with distribution.scope():
        inputs = keras.Input((64,))
        model = keras.Model(inputs, keras.layers.Dropout(0.5)(inputs))
        layer_seeds = seeds.LayerSeeds(model, seed=SEED)

    @tf.function
    def mask():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        layer_seeds.set(step=tf.constant(3, tf.int64), replica=replica)
        return model(tf.ones((1, 64)), training=True)

    masks = distribution.run(mask)
    return np.concatenate(distribution.experimental_local_results(masks))


def main(num_replicas, output):
    """Runs all cases and writes `case/name` arrays."""
    if "TF_CONFIG" in os.environ:
        distribution = strategy.make_strategy("multi_worker_mirrored")
    else:
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * num_replicas
        )
        distribution = strategy.make_strategy("mirrored" if num_replicas > 1 else "one_device")
    assert distribution.num_replicas_in_sync == num_replicas
    arrays = {}
    for name, case in CASES.items():
        for key, value in train(case, distribution).items():
            arrays[f"{name}/{key}"] = value
    np.savez(output, **arrays)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
