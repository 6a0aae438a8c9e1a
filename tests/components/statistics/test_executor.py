"""Streamed statistics are those that TFX computes with Beam."""

import json
import pathlib

import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import statistics_pb2
from tfx import types
from tfx.types import standard_artifacts

from components.schema import curated
from components.statistics import component, executor
from tests.components import tfx_factories

_LABELS = {"train": [0, 1, 1, 0, 1], "test": [1, 1, 0]}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    for split, labels in _LABELS.items():
        examples = [
            tfx_factories.example(label, fill=10 * row, name=f"{split}-{row}")
            for row, label in enumerate(labels)
        ]
        tfx_factories.write_split(folder / "examples", split, examples)
    examples = tfx_factories.artifact(
        standard_artifacts.Examples, folder / "examples", split_names='["train","test"]'
    )
    schema = tfx_factories.artifact(standard_artifacts.Schema, folder / "schema")
    text = text_format.MessageToString(curated.curated_schema(tfx_factories.DATA))
    (folder / "schema" / "schema.pbtxt").write_text(text)
    return {"examples": [examples], "schema": [schema]}


def _statistics(inputs, folder, *, beam_arguments):
    node = component.StatisticsGen(
        examples=types.Channel(type=standard_artifacts.Examples),
        schema=types.Channel(type=standard_artifacts.Schema),
        num_classes=2,
    )
    output = tfx_factories.artifact(standard_artifacts.ExampleStatistics, folder)
    context = executor.Executor.Context(beam_pipeline_args=beam_arguments)
    executor.Executor(context).Do(inputs, {"statistics": [output]}, node.exec_properties)
    assert json.loads(output.split_names) == ["train", "test"]
    return {
        split: statistics_pb2.DatasetFeatureStatisticsList.FromString(
            pathlib.Path(folder, f"Split-{split}", "FeatureStats.pb").read_bytes()
        ).datasets[0]
        for split in _LABELS
    }


@pytest.fixture(scope="module")
def streamed(inputs, tmp_path_factory):
    return _statistics(inputs, tmp_path_factory.mktemp("streamed"), beam_arguments=[])


def _by_name(dataset):
    return {feature.path.step[0]: feature for feature in dataset.features}


def test_the_number_of_examples_is_right(streamed):
    assert {split: found.num_examples for split, found in streamed.items()} == {
        "train": 5,
        "test": 3,
    }


def test_every_class_is_counted(streamed):
    buckets = _by_name(streamed["train"])["label"].string_stats.rank_histogram.buckets
    assert {bucket.label: bucket.sample_count for bucket in buckets} == {"0": 2, "1": 3}


def test_of_an_image_only_the_size_is_looked_at(streamed):
    image = _by_name(streamed["train"])["image"]
    assert image.WhichOneof("stats") == "bytes_stats"
    assert image.bytes_stats.min_num_bytes > 0


def test_features_that_the_schema_does_not_name_are_left_out(streamed):
    assert set(_by_name(streamed["train"])) == {"image", "label"}


def test_they_equal_those_of_a_beam_runner(inputs, streamed, tmp_path):
    with_beam = _statistics(inputs, tmp_path, beam_arguments=["--runner=DirectRunner"])
    for split in _LABELS:
        assert _by_name(streamed[split]) == _by_name(with_beam[split])
