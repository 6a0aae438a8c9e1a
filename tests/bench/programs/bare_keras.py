"""The bare script: load, fit, evaluate, export, as a Keras user would write it.

Prints one JSON line: total and fit seconds since the process began importing, and the accuracy.
Run by `tests/bench/bench_pipeline.py`; arguments: IDX folder, output folder, recipe JSON.
"""

import time

PROCESS_START = time.perf_counter()

import json  # noqa: E402
import pathlib  # noqa: E402
import sys  # noqa: E402

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402

from models import config as model_config  # noqa: E402
from models import inputs, registry  # noqa: E402
from models.blocks import heads  # noqa: E402
from tests.bench.programs import idx_files  # noqa: E402


def main() -> None:
    """Trains with `model.fit` on a shuffled, batched, prefetched chain with default autotune."""
    idx_folder, output_folder, settings = (
        sys.argv[1],
        pathlib.Path(sys.argv[2]),
        json.loads(sys.argv[3]),
    )
    images_BHW1, labels_B = idx_files.read_split(pathlib.Path(idx_folder), "train")
    num_validation = int(len(labels_B) * settings["validation_share"])
    batch_size = settings["global_batch_size"]
    train = (
        tf.data.Dataset.from_tensor_slices(
            (images_BHW1[num_validation:], labels_B[num_validation:])
        )
        .shuffle(len(labels_B), seed=0)
        .batch(batch_size, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    validation = (
        tf.data.Dataset.from_tensor_slices(
            (images_BHW1[:num_validation], labels_B[:num_validation])
        )
        .batch(batch_size)
        .prefetch(tf.data.AUTOTUNE)
    )
    config = model_config.parse_model_config(settings["model"])
    pixels = inputs.ImageInput(height_px=28, width_px=28, channels=1)
    model = registry.build_model(config, inputs=pixels, head=heads.Classes(num_classes=10))
    model.compile(
        optimizer=keras.optimizers.AdamW(settings["learning_rate"]),
        loss={"logits": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        metrics={"logits": [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]},
    )
    fit_start = time.perf_counter()
    model.fit(train, validation_data=validation, epochs=settings["num_epochs"], verbose=0)
    fit_secs = time.perf_counter() - fit_start
    test_images_BHW1, test_labels_B = idx_files.read_split(pathlib.Path(idx_folder), "test")
    metrics = model.evaluate(
        test_images_BHW1, test_labels_B, batch_size=500, verbose=0, return_dict=True
    )
    model.export(str(output_folder / "saved_model"), verbose=False)
    print(
        json.dumps(
            {
                "total_secs": time.perf_counter() - PROCESS_START,
                "fit_secs": fit_secs,
                "accuracy": metrics["accuracy"],
            }
        )
    )


if __name__ == "__main__":
    main()
