import re
import time

import pytest
import tensorflow as tf

from components.input_pipeline import stage_speed
from components.input_pipeline.config import InputConfig


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(stage_speed, "_MEASURED_SECS", 0.1)


def slowed(dataset, milliseconds):
    """Makes each batch take so long."""

    def wait(batch):
        time.sleep(milliseconds / 1000)
        return batch

    return dataset.map(lambda batch: tf.ensure_shape(tf.py_function(wait, [batch], tf.int64), (8,)))


def stages_of(**milliseconds):
    """A maker of stages of 8 rows, each slowed by so many milliseconds."""

    def make(config):
        dataset = tf.data.Dataset.range(10**9).batch(8, drop_remainder=True)
        stages = {}
        for name, delay in milliseconds.items():
            if name == "augment" and config.augment.brightness:
                delay *= 5
            dataset = stages[name] = slowed(dataset, delay)
        return stages

    return make


def test_rate_counts_rows():
    dataset = slowed(tf.data.Dataset.range(10**9).batch(8, drop_remainder=True), 10)
    assert 400 < stage_speed.rows_per_sec(dataset) <= 800


@pytest.mark.parametrize(
    ("milliseconds", "config", "advice"),
    [
        ({"order": 1, "read": 20}, {"cache": "none"}, 'set input.cache to "memory"'),
        ({"order": 1, "read": 20}, {"cache": "memory"}, "read takes .* no setting"),
        ({"order": 1, "read": 20}, {"cache": "auto"}, "free memory, .*--data-service"),
        (
            {"read": 1, "augment": 10},
            {"augment": {"horizontal_flip": True, "brightness": 0.2}},
            "augment takes .* Weaken or remove input.augment.brightness",
        ),
        ({"read": 1, "mix": 20}, {"augment": {"mixup_alpha": 0.2}}, "mix takes .*mixup_alpha"),
        ({"read": 1, "batch": 20}, {}, "batch takes .* No setting"),
    ],
)
def test_advice_names_what_the_slowest_stage_hangs_on(milliseconds, config, advice):
    speeds = stage_speed.measure(
        stages_of(**milliseconds), InputConfig.from_dict(config), kind="image"
    )
    assert list(speeds.rows_per_sec) == list(milliseconds)
    assert re.search(advice, speeds.advice), speeds.advice


def test_picture_is_written(tmp_path):
    speeds = stage_speed.StageSpeeds(rows_per_sec={"order": 1e6, "read": 1e3}, advice="Read less.")
    stage_speed.draw(speeds, tmp_path / "new" / "input.png")
    assert (tmp_path / "new" / "input.png").read_bytes()[:4] == b"\x89PNG"
