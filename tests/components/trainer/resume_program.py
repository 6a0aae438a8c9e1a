"""One attempt at a training run, as a process that tests start, stop and start again."""

import json
import pathlib

import numpy as np
import tensorflow as tf

from components.ingest.config import DataConfig
from components.input_pipeline.config import InputConfig
from components.trainer import request as train_request
from components.trainer import session, train
from components.trainer.config import TrainingConfig
from models.config import parse_model_config

RESULT_FILE = "result.npz"


def request(directory, *, data, dataset, model=None, strategy="one_device", **training):
    """A run on a small dataset that takes a few hundred steps and saves all the time."""
    settings = {
        "num_epochs": 8,
        "global_batch_size": 24,
        "steps_per_execution": 3,
        "jit_compile": False,
        "optimizer": {"name": "adamw", "weight_decay": 0.01},
        "schedule": {"name": "reduce_on_plateau", "plateau": {"patience_epochs": 1}},
        "early_stopping": {"patience_epochs": 6},
        "ema_momentum": 0.9,
        "checkpoints": {"every_steps": 3},
        **training,
    }
    return train_request.TrainRequest(
        data=DataConfig.from_dict(data),
        input=InputConfig.from_dict({"augment": {"max_translation_px": 1}}),
        model=parse_model_config(
            model or {"architecture": "mlp", "hidden_units": [16, 16], "dropout_rate": 0.2}
        ),
        training=TrainingConfig.from_dict(settings),
        seed=5,
        strategy=strategy,
        train_files=tuple(sorted(map(str, pathlib.Path(dataset).glob("Split-train/*")))),
        validation_files=tuple(sorted(map(str, pathlib.Path(dataset).glob("Split-validation/*")))),
        directory=pathlib.Path(directory),
    )


def attempt(directory, num_replicas, settings):
    """Trains until the end or until it is stopped; at the end it writes all weights."""
    if num_replicas > 1:
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * num_replicas
        )
    name = "mirrored" if num_replicas > 1 else "one_device"
    result = train.train(request(directory, strategy=name, **settings))
    np.savez(pathlib.Path(directory) / RESULT_FILE, *result.model.get_weights())


def log_lines(directory):
    """The log without what the clock says."""
    lines = []
    for line in (pathlib.Path(directory) / session.LOG_FILE).open():
        event = json.loads(line)
        for name in ("rows_per_sec", "wait_share", "seconds"):
            event.pop(name, None)
        lines.append(event)
    return lines
