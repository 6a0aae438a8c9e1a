"""A training epoch, validation and hooks included, against a bare `model.fit` of the same model.

Both train the same network on the same batches with the same optimizer, in turn; the first epoch,
which traces, does not count. `fit` runs once with Keras' defaults and once with 32 steps per
execution. Prints a Markdown table.

    .venv/bin/python -m tests.bench.bench_training
"""

import argparse
import dataclasses
import pathlib
import statistics
import tempfile
import time

import keras
import tensorflow as tf

from components.trainer import batches, train
from components.trainer import request as train_request
from models import registry
from pipeline import recipe_files, training
from tests.bench import machine

# Recipe -> batches per epoch: a small network and a convolutional one.
RECIPES = {"digits": 18, "fashion_mnist": 60}
NUM_EPOCHS = 5


class EpochClock(keras.callbacks.Callback):
    """Notes the seconds of each epoch, validation included."""

    def on_train_begin(self, logs=None):
        """Starts the list."""
        self.seconds = []

    def on_epoch_begin(self, epoch, logs=None):
        """Starts the clock."""
        self._started = time.monotonic()

    def on_epoch_end(self, epoch, logs=None):
        """Stops the clock."""
        self.seconds.append(time.monotonic() - self._started)


def kerasline_seconds(request: train_request.TrainRequest) -> list[float]:
    """Trains as `kerasline train` does and returns the seconds of each epoch but the first."""
    with tempfile.TemporaryDirectory() as directory:
        result = train.train(dataclasses.replace(request, directory=pathlib.Path(directory)))
    return [record.seconds for record in result.history[1:]]


def fit_seconds(request: train_request.TrainRequest, *, steps_per_execution: int) -> list[float]:
    """Trains with `model.fit` and returns the seconds of each epoch but the first."""
    keras.utils.set_random_seed(request.seed)
    model = registry.build_model(
        request.model,
        inputs=batches.decoder(request).inputs,
        head=batches.head(request),
    )
    settings = request.training.optimizer
    model.compile(
        optimizer=keras.optimizers.AdamW(
            settings.learning_rate,
            weight_decay=settings.weight_decay,
            global_clipnorm=settings.global_clipnorm,
        ),
        loss={"logits": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        metrics={"logits": ["accuracy"]},
        steps_per_execution=steps_per_execution,
        jit_compile=False,
    )
    clock = EpochClock()
    model.fit(
        batches.train_dataset(request),
        epochs=request.training.num_epochs,
        steps_per_epoch=batches.count_steps_per_epoch(request),
        validation_data=batches.validation_dataset(request),
        callbacks=[clock],
        verbose=0,
    )
    return clock.seconds[1:]


def compare(recipe_name: str, *, max_batches: int, rounds: int) -> str:
    """Returns a row of the table: milliseconds per step of each program, and ratios."""
    overrides = [f"training.num_epochs={NUM_EPOCHS}", "training.jit_compile=false"]
    recipe = recipe_files.load(recipe_name, overrides)
    made = training.make_request(
        recipe, strategy="one_device", directory=pathlib.Path(tempfile.gettempdir())
    )
    request = dataclasses.replace(made, max_batches=max_batches, cache_dir=None)
    times: dict[str, list[float]] = {"fit": [], "fit32": [], "kerasline": []}
    for _ in range(rounds):
        times["fit"] += fit_seconds(request, steps_per_execution=1)
        times["fit32"] += fit_seconds(request, steps_per_execution=32)
        times["kerasline"] += kerasline_seconds(request)
    steps = batches.count_steps_per_epoch(request)
    fit, fit32, ours = (1e3 * statistics.median(times[name]) / steps for name in times)
    return (
        f"| {recipe_name} | {fit:.2f} | {fit32:.2f} | {ours:.2f} | {ours / fit:.2f}x "
        f"| {ours / fit32:.2f}x |"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(f"{machine.describe()}, Keras {keras.__version__}, TensorFlow {tf.__version__}\n")
    print("Milliseconds per step, validation and hooks included, and our share of `fit`'s.\n")
    print("| recipe | fit | fit, 32 steps | kerasline | to fit | to fit, 32 steps |")
    print("|---|---|---|---|---|---|")
    for recipe_name, max_batches in RECIPES.items():
        print(compare(recipe_name, max_batches=max_batches, rounds=rounds), flush=True)


if __name__ == "__main__":
    main()
