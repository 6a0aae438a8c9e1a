"""The gate's executor reads what TFX's own steps wrote."""

import pathlib

import pytest
from google.protobuf import text_format
from tfx import types
from tfx.components.example_validator import executor as example_validator
from tfx.types import standard_artifacts

from components import gates
from components.schema import curated
from components.statistics import component as statistics_component
from components.statistics import executor as statistics_executor
from components.validation_gate import component, executor
from tests.components import tfx_factories


def _check(folder, labels):
    """Runs statistics, validation and the gate on one split with these labels."""
    examples_dir = folder / "examples"
    tfx_factories.write_split(
        examples_dir, "train", [tfx_factories.example(label) for label in labels]
    )
    artifacts = {
        "examples": tfx_factories.artifact(
            standard_artifacts.Examples, examples_dir, split_names='["train"]'
        ),
        "schema": tfx_factories.artifact(standard_artifacts.Schema, folder / "schema"),
        "statistics": tfx_factories.artifact(
            standard_artifacts.ExampleStatistics, folder / "statistics"
        ),
        "anomalies": tfx_factories.artifact(
            standard_artifacts.ExampleAnomalies, folder / "anomalies"
        ),
        "class_counts": tfx_factories.artifact(standard_artifacts.JsonValue, folder / "counts"),
    }
    artifacts["class_counts"].uri = str(folder / "counts" / "value")
    lists = {name: [artifact] for name, artifact in artifacts.items()}
    schema = curated.curated_schema(tfx_factories.DATA)
    pathlib.Path(folder, "schema", "schema.pbtxt").write_text(text_format.MessageToString(schema))
    statistics_node = statistics_component.StatisticsGen(
        examples=types.Channel(type=standard_artifacts.Examples),
        schema=types.Channel(type=standard_artifacts.Schema),
        num_classes=2,
    )
    statistics_executor.Executor().Do(lists, lists, statistics_node.exec_properties)
    example_validator.Executor().Do(lists, lists, {})
    gate_node = component.ValidationGate(
        statistics=types.Channel(type=standard_artifacts.ExampleStatistics),
        anomalies=types.Channel(type=standard_artifacts.ExampleAnomalies),
        class_names=tfx_factories.LABEL.class_names,
    )
    executor.Executor().Do(lists, lists, gate_node.exec_properties)
    artifacts["class_counts"].read()
    return artifacts["class_counts"].value


def test_sound_data_passes_with_its_class_counts(tmp_path):
    assert _check(tmp_path, [0, 1, 1]) == {"train": [1, 2]}


def test_a_label_outside_the_schema_stops_the_run(tmp_path):
    with pytest.raises(gates.GateRefusedError, match=r"1 examples have label=2, but labels must"):
        _check(tmp_path, [0, 1, 2])


def test_an_example_without_a_label_stops_the_run(tmp_path):
    with pytest.raises(gates.GateRefusedError, match=r"split 'train': label: .*fewer examples"):
        _check(tmp_path, [0, 1, None])


def test_a_class_without_examples_stops_the_run(tmp_path):
    with pytest.raises(gates.GateRefusedError, match=r"class 'dog' \(label 1\) has no examples"):
        _check(tmp_path, [0, 0])
