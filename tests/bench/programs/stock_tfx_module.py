"""The user's module of the stock chain: `preprocessing_fn` and `run_fn`, from TFX's public API."""

import json
import time

import keras
import tensorflow as tf
import tensorflow_transform as tft

from models import config as model_config
from models import inputs as input_specs
from models import registry
from models.blocks import heads


def preprocessing_fn(inputs):
    """Decodes the PNG column to flat uint8-valued floats and passes the label on."""

    def decode(png_1):
        return tf.cast(tf.image.decode_png(png_1[0], channels=1), tf.float32)

    images_BHW1 = tf.map_fn(decode, inputs["image"], fn_output_signature=tf.float32)
    images_BHW1 = tf.reshape(images_BHW1, [-1, 28 * 28])
    return {"pixels": images_BHW1, "label": tf.cast(inputs["label"], tf.int64)}


def _dataset(file_patterns, transform_output, batch_size, *, training):
    spec = transform_output.transformed_feature_spec()
    spec["pixels"] = tf.io.FixedLenFeature([28 * 28], tf.float32)

    def parse(examples_B):
        features = tf.io.parse_example(examples_B, spec)
        return tf.reshape(features["pixels"], [-1, 28, 28, 1]), tf.reshape(features["label"], [-1])

    files = tf.data.Dataset.list_files(file_patterns)
    dataset = files.interleave(lambda f: tf.data.TFRecordDataset(f, compression_type="GZIP"))
    if training:
        dataset = dataset.shuffle(60_000, seed=0)
    dataset = dataset.batch(batch_size, drop_remainder=training)
    return dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def run_fn(fn_args):
    """Trains and exports with a `serving_default` signature over serialised tf.Examples."""
    settings = json.loads(fn_args.custom_config["settings"])
    transform_output = tft.TFTransformOutput(fn_args.transform_output)
    batch_size = settings["global_batch_size"]
    train = _dataset(fn_args.train_files, transform_output, batch_size, training=True)
    validation = _dataset(fn_args.eval_files, transform_output, batch_size, training=False)
    config = model_config.parse_model_config(settings["model"])
    pixels = input_specs.ImageInput(height_px=28, width_px=28, channels=1)
    model = registry.build_model(config, inputs=pixels, head=heads.Classes(num_classes=10))
    model.compile(
        optimizer=keras.optimizers.AdamW(settings["learning_rate"]),
        loss={"logits": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        metrics={"logits": [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]},
    )
    fit_start = time.perf_counter()
    model.fit(train, validation_data=validation, epochs=settings["num_epochs"], verbose=0)
    with open(settings["fit_secs_file"], "w", encoding="utf-8") as file:
        file.write(str(time.perf_counter() - fit_start))

    archive = keras.export.ExportArchive()
    archive.track(model)
    layer = transform_output.transform_features_layer()
    archive.track(layer)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve_examples(examples_B):
        spec = {
            "image": tf.io.FixedLenFeature([1], tf.string),
            "label": tf.io.FixedLenFeature([1], tf.int64),
        }
        features = layer(tf.io.parse_example(examples_B, spec))
        logits_BK = model(tf.reshape(features["pixels"], [-1, 28, 28, 1]))["logits"]
        return {"probabilities": tf.nn.softmax(logits_BK)}

    archive.add_endpoint("serving_default", serve_examples)
    archive.write_out(fn_args.serving_model_dir)
