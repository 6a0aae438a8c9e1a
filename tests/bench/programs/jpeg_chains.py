"""Chains over the same 1,024 JPEG files: Kerasline's, a hand-tuned one, Keras layers in map.

All decode to 128 x 128 px once, keep that in memory, then flip, crop and change brightness and
contrast in batches of 64; two others apply RandAugment. Prints one JSON line: rows per second of
each, in alternating rounds. Arguments: working folder, number of rounds.
"""

import io
import json
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import PIL.Image
import tensorflow as tf

from components.ingest import example, tfrecord
from components.input_pipeline import chain, decoding
from components.input_pipeline.config import AugmentConfig, InputConfig, RandAugmentConfig
from tests.components import data_factories

NUM_ROWS, BATCH, SIZE_PX, NUM_STEPS = 1024, 64, 128, 64
MAX_SECS = 10.0
AUGMENT = AugmentConfig(horizontal_flip=True, min_crop_area=0.5, brightness=0.2, contrast=0.2)


def write_shard(path: pathlib.Path) -> None:
    """Writes JPEG files of 240 x 320 px with soft shapes, as photographs have them."""
    generator = np.random.default_rng(0)
    writer = tfrecord.RecordWriter(path)
    for row in range(NUM_ROWS):
        coarse = PIL.Image.fromarray(generator.integers(0, 256, (12, 16, 3), np.uint8))
        buffer = io.BytesIO()
        coarse.resize((320, 240), PIL.Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=90)
        key = b"%d" % row
        writer.write(
            example.encode_example({"image": buffer.getvalue(), "key": key, "label": row % 10})
        )
    writer.close()


def kerasline(path: str, augment: AugmentConfig = AUGMENT) -> tf.data.Dataset:
    """The chain of this project."""
    image = {"height_px": SIZE_PX, "width_px": SIZE_PX, "channels": 3, "resize": True}
    return chain.train_dataset(
        [path],
        decode=decoding.Decoder(data_factories.data_config(image=image)),
        input_config=InputConfig(augment=augment),
        global_batch_size=BATCH,
        seed=0,
    )


def _decoded(path: str) -> tf.data.Dataset:
    def decode(serialized: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        features = {
            "image": tf.io.FixedLenFeature((), tf.string),
            "label": tf.io.FixedLenFeature((), tf.int64),
        }
        row = tf.io.parse_single_example(serialized, features)
        image = tf.image.resize(tf.io.decode_jpeg(row["image"]), (SIZE_PX, SIZE_PX))
        image = tf.ensure_shape(tf.cast(image, tf.uint8), (SIZE_PX, SIZE_PX, 3))
        return image, row["label"]

    rows = tf.data.TFRecordDataset(path).map(decode, num_parallel_calls=tf.data.AUTOTUNE).cache()
    return rows.shuffle(NUM_ROWS, seed=0).repeat()


def hand_tuned(path: str) -> tf.data.Dataset:
    """What a careful user writes with `tf.image`: cache, per-image operations, AUTOTUNE."""

    def change(image: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            (SIZE_PX, SIZE_PX, 3),
            tf.zeros((1, 0, 4)),
            aspect_ratio_range=(0.75, 1.33),
            area_range=(0.5, 1.0),
            use_image_if_no_bounding_boxes=True,
        )
        image = tf.image.resize(tf.slice(image, begin, size), (SIZE_PX, SIZE_PX))
        image = tf.image.random_flip_left_right(tf.ensure_shape(image, (SIZE_PX, SIZE_PX, 3)))
        image = tf.image.random_contrast(image, 0.8, 1.2)
        image = tf.image.random_brightness(image, 51.0)
        return tf.cast(tf.clip_by_value(image, 0.0, 255.0), tf.uint8), label

    rows = _decoded(path).map(change, num_parallel_calls=tf.data.AUTOTUNE)
    return rows.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def keras_layers(path: str) -> tf.data.Dataset:
    """The same with Keras preprocessing layers inside `map`, on batches."""
    return _with_layers(
        path,
        [
            keras.layers.RandomFlip("horizontal"),
            keras.layers.RandomZoom((-0.3, 0.0)),
            keras.layers.RandomTranslation(0.15, 0.15),
            keras.layers.RandomContrast(0.2),
            keras.layers.RandomBrightness(0.2),
        ],
    )


def rand_augment(path: str) -> tf.data.Dataset:
    """RandAugment of this project, two operations of magnitude 9 for each image."""
    return kerasline(path, AugmentConfig(rand_augment=RandAugmentConfig()))


def keras_rand_augment(path: str) -> tf.data.Dataset:
    """Keras' RandAugment layer, which draws two operations for a whole batch."""
    return _with_layers(path, [keras.layers.RandAugment(num_ops=2, factor=0.3)])


def _with_layers(path: str, layers: list[keras.Layer]) -> tf.data.Dataset:
    def change(images: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        for layer in layers:
            images = layer(images, training=True)
        return images, labels

    batches = _decoded(path).batch(BATCH, drop_remainder=True)
    return batches.map(change, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def rows_per_second(dataset: tf.data.Dataset) -> float:
    """Measures when everything is traced and cached: the shuffle reads all before its first row."""
    iterator = iter(dataset)
    _take(iterator, NUM_ROWS // BATCH + 1)
    return _take(iterator, NUM_STEPS)


def _take(iterator: Iterator[Any], num_steps: int) -> float:
    """Takes batches for at most MAX_SECS and returns the rows per second."""
    start = time.perf_counter()
    steps = 0
    while steps < num_steps and time.perf_counter() - start < MAX_SECS:
        next(iterator)
        steps += 1
    return steps * BATCH / (time.perf_counter() - start)


def main() -> None:
    """Measures them in turn and prints the medians."""
    path = pathlib.Path(sys.argv[1]) / "jpeg_tfrecord"
    write_shard(path)
    chains: tuple[Callable[[str], tf.data.Dataset], ...] = (
        kerasline,
        hand_tuned,
        keras_layers,
        rand_augment,
        keras_rand_augment,
    )
    rates: dict[str, list[float]] = {make.__name__: [] for make in chains}
    for _ in range(int(sys.argv[2])):
        for make in chains:
            rates[make.__name__].append(rows_per_second(make(str(path))))
    print(json.dumps({name: statistics.median(values) for name, values in rates.items()}))


if __name__ == "__main__":
    main()
