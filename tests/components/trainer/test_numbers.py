"""Numbers are learned from ingested examples: a series, and the target of a table.

Axes: N examples, T steps of the past, H steps ahead.
"""

import numpy as np
import pytest
import tensorflow as tf

from components.ingest.config import DataConfig
from components.input_pipeline import decoding
from components.input_pipeline.config import InputConfig
from components.trainer import request as train_request
from components.trainer import train
from components.trainer.config import TrainingConfig
from components.transform import fit
from components.transform.config import FITTED_INPUTS
from models.config import parse_model_config

SOURCE = {"kind": "parquet", "path": "/none.parquet"}
BY_TIME = {"by": "time", "key": "when"}
SERIES = {"time": "when", "value": "demand", "history_steps": 24, "horizon_steps": 6}


def _write(path, rows):
    with tf.io.TFRecordWriter(str(path)) as file:
        for row in rows:
            features = {
                name: tf.train.Feature(float_list=tf.train.FloatList(value=values))
                for name, values in row.items()
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            file.write(example.SerializeToString())
    return (str(path),)


def _series_rows(num_rows, *, first=0):
    """Windows of a daily rhythm around 5000 that grows by 1 a step."""
    steps = np.arange(first, first + num_rows + 30)
    noise = np.random.default_rng(first).normal(0, 5, len(steps))
    values = 5000 + steps + 300 * np.sin(2 * np.pi * steps / 12) + noise
    return [
        {"history": values[i : i + 24], "target": values[i + 24 : i + 30]} for i in range(num_rows)
    ]


def _table_rows(num_rows, *, seed):
    """A fare of 2.50 and 1.80 per mile."""
    miles_N = np.random.default_rng(seed).uniform(0, 20, num_rows)
    return [{"miles": [miles], "target": [2.5 + 1.8 * miles]} for miles in miles_N]


def _request(tmp_path, data, model, rows, validation_rows, **training):
    settings = {"num_epochs": 40, "global_batch_size": 32, "tensorboard": False, **training}
    train_files = _write(tmp_path / "train", rows)
    return train_request.TrainRequest(
        data=data,
        input=InputConfig(),
        model=parse_model_config(model),
        training=TrainingConfig.from_dict(settings),
        seed=0,
        strategy="one_device",
        train_files=train_files,
        validation_files=_write(tmp_path / "validation", validation_rows),
        fitted=fit.fit(train_files, data) if data.input_name in FITTED_INPUTS else None,
        directory=tmp_path / "run",
    )


def test_linear_forecaster_beats_the_value_of_one_period_before(tmp_path):
    data = DataConfig.from_dict(
        {"source": SOURCE, "series": {**SERIES, "period_steps": 12}, "splits": BY_TIME}
    )
    later = _series_rows(96, first=600)
    request = _request(
        tmp_path,
        data,
        {"architecture": "dlinear"},
        _series_rows(480),
        later,
        optimizer={"learning_rate": 0.02},
    )
    result = train.train(request)
    naive_mae = np.mean([np.abs(row["target"] - row["history"][12:18]).mean() for row in later])
    assert result.history[-1].metrics["val_mae"] < 0.6 * naive_mae
    assert result.history[-1].metrics["val_rmse"] >= result.history[-1].metrics["val_mae"]
    history_BTC = np.array([row["history"] for row in later], "float32")[..., None]
    predictions_BH = result.model(history_BTC, training=False)["predictions"].numpy()
    measured = np.abs(predictions_BH - np.array([row["target"] for row in later])).mean()
    assert measured == pytest.approx(result.history[-1].metrics["val_mae"], rel=1e-3)


def test_fares_are_learned_in_their_own_unit(tmp_path):
    data = DataConfig.from_dict(
        {
            "source": SOURCE,
            "table": {"columns": {"miles": {"kind": "number"}}},
            "target": {"source_name": "fare"},
        }
    )
    request = _request(
        tmp_path,
        data,
        {"architecture": "mlp", "hidden_units": [16], "dropout_rate": 0.0},
        _table_rows(640, seed=0),
        _table_rows(64, seed=1),
        num_epochs=15,
        optimizer={"learning_rate": 0.01},
    )
    result = train.train(request)
    # The fares lie between 2.5 and 38.5, with a deviation of 10.4.
    assert result.history[-1].metrics["val_mae"] < 0.7
    best = result.history[-1].metrics["val_loss"]
    assert best < result.history[0].metrics["val_loss"]


def test_histories_of_several_channels_are_read_step_by_step(tmp_path):
    data = DataConfig.from_dict(
        {
            "source": SOURCE,
            "series": {**SERIES, "history_steps": 3, "horizon_steps": 2, "covariates": ["heat"]},
            "splits": BY_TIME,
        }
    )
    row = {"history": [1, 10, 2, 20, 3, 30], "target": [4, 5]}
    (path,) = _write(tmp_path / "shard", [row])
    record = next(iter(tf.data.TFRecordDataset(path).batch(1)))
    history_BTC, target_BH = decoding.Decoder(data)(record)
    assert history_BTC.numpy().tolist() == [[[1, 10], [2, 20], [3, 30]]]
    assert target_BH.numpy().tolist() == [[4, 5]]
