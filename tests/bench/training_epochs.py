"""Whole trainings, validation, log, TensorBoard and checkpoints included, beside a bare `fit`."""

import dataclasses
import json
import pathlib
import statistics
import tempfile

import keras
import numpy as np

from components import progress
from components.trainer import batches, execution, schedule, train
from components.trainer import request as train_request
from models import registry
from pipeline import recipe_files, training
from tests.bench.training_runs import EpochClock, compiled_model

NUM_EPOCHS = 3
_NUM_TEXTS = 6_000
_TEXT_RECIPE = """
schema_version = 1
name = "texts"
description = "Random words."
task = "text_classification"
seed = 7
[data.source]
kind = "jsonl"
path = "{path}"
[data.text]
source_name = "text"
max_tokens = 64
vocabulary_size = 8000
[data.label]
source_name = "label"
class_names = ["no", "yes"]
[data.splits]
validation_share = 0.1
test_share = 0.1
[model]
architecture = "transformer"
[training]
num_epochs = 1
global_batch_size = 64
[evaluation]
min_accuracy = 0.0
min_class_accuracy = 0.0
"""
# Name -> batches per epoch and batch size; the recipes ship, but for `texts`.
SIZES = {"digits": (32, 32), "fashion_mnist": (64, 128), "texts": (32, 64)}


def write_texts(folder: pathlib.Path) -> pathlib.Path:
    """Writes random texts of 64 words and a recipe for them; returns the recipe's path."""
    generator = np.random.default_rng(0)
    words_NT = generator.integers(0, 7_990, (_NUM_TEXTS, 64)).tolist()
    with open(folder / "texts.jsonl", "w", encoding="utf-8") as lines:
        for number, words_T in enumerate(words_NT):
            text = " ".join(f"w{word}" for word in words_T)
            lines.write(json.dumps({"text": text, "label": ("no", "yes")[number % 2]}) + "\n")
    recipe = folder / "texts.toml"
    recipe.write_text(_TEXT_RECIPE.format(path=folder / "texts.jsonl"))
    return recipe


def make_request(
    recipe: str, *, num_epochs: int, max_batches: int, global_batch_size: int
) -> train_request.TrainRequest:
    """Returns what a recipe trains, with so many batches an epoch."""
    overrides = [
        f"training.num_epochs={num_epochs}",
        f"training.global_batch_size={global_batch_size}",
    ]
    made = training.make_request(
        recipe_files.load(recipe, overrides),
        strategy="one_device",
        directory=pathlib.Path(tempfile.gettempdir()),
    )
    return dataclasses.replace(made, max_batches=max_batches, cache_dir=None)


def own_training(request: train_request.TrainRequest) -> tuple[list[float], execution.Execution]:
    """Trains as `kerasline train` does; returns the seconds of each epoch, and how it ran."""
    with tempfile.TemporaryDirectory() as directory:
        result = train.train(dataclasses.replace(request, directory=pathlib.Path(directory)))
    return [record.seconds for record in result.history], result.execution


def fit_training(request: train_request.TrainRequest, chosen: execution.Execution) -> list[float]:
    """Trains with `model.fit` and the same settings; returns the seconds of each epoch."""
    keras.utils.set_random_seed(request.seed)
    steps = batches.count_steps_per_epoch(request)
    total_steps = steps * request.training.num_epochs
    rate = schedule.make_schedule(
        request.training.schedule,
        peak=request.training.optimizer.learning_rate,
        total_steps=total_steps,
    )
    model = registry.build_model(
        request.model, inputs=batches.decoder(request).inputs, head=batches.head(request)
    )
    # `fit` takes whole executions alone: more steps would make a longer epoch than ours.
    per_execution = min(chosen.steps_per_execution, steps)
    compiled_model(
        model,
        request.training.optimizer,
        rate,
        execution_=chosen.model_copy(update={"steps_per_execution": per_execution}),
    )
    clock = EpochClock()
    model.fit(
        batches.train_dataset(request),
        epochs=request.training.num_epochs,
        steps_per_epoch=steps,
        validation_data=batches.validation_dataset(request),
        callbacks=[clock],
        verbose=0,
    )
    return clock.seconds


def compare(name: str, recipe: str, *, rounds: int) -> str:
    """Returns a row of the table: milliseconds per step of both, and the ratio."""
    max_batches, batch_size = SIZES[name]
    request = make_request(
        recipe, num_epochs=NUM_EPOCHS, max_batches=max_batches, global_batch_size=batch_size
    )
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        seconds, chosen = own_training(request)
        ours += seconds[1:]
        # Every round as the first one ran, so that rounds can be compared.
        settings = {
            "steps_per_execution": chosen.steps_per_execution,
            "jit_compile": chosen.jit_compile,
        }
        fixed = request.training.model_copy(update=settings)
        request = dataclasses.replace(request, training=fixed)
        theirs += fit_training(request, chosen)[1:]
    steps = batches.count_steps_per_epoch(request)
    own, fit = (1e3 * statistics.median(seconds) / steps for seconds in (ours, theirs))
    return (
        f"| {name} | {chosen.steps_per_execution} | {'yes' if chosen.jit_compile else 'no'} "
        f"| {fit:.2f} | {own:.2f} | {own / fit:.2f}x |"
    )


def memory_over_epochs(*, num_epochs: int) -> str:
    """Returns a row: the process' memory after ten epochs of digits and at the end."""
    rss_mib: list[float] = []

    def note(event: dict) -> None:
        if event["event"] == "epoch":
            rss_mib.append(_rss_mib())

    progress.listen(note)
    request = make_request("digits", num_epochs=num_epochs, max_batches=18, global_batch_size=64)
    own_training(request)
    early, late = statistics.median(rss_mib[9:19]), statistics.median(rss_mib[-10:])
    return f"| {num_epochs} | {early:.0f} | {late:.0f} | {late / early:.3f}x |"


def _rss_mib() -> float:
    status = pathlib.Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
