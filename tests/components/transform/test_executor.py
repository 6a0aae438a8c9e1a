"""The node learns from the split that it is told, and from no other."""

import json
import pathlib

from tfx import types
from tfx.types import standard_artifacts

from components.transform import component, executor, fitted
from tests.components import input_factories, tfx_factories


def test_only_the_named_split_is_learned_from(tmp_path):
    examples_dir = tmp_path / "examples"
    rows = [input_factories.text_example(*row) for row in input_factories.REVIEWS]
    tfx_factories.write_split(examples_dir, "train", rows)
    tfx_factories.write_split(
        examples_dir, "test", [input_factories.text_example("secret " * 9, 0)]
    )
    examples = tfx_factories.artifact(
        standard_artifacts.Examples, examples_dir, split_names='["train","test"]'
    )
    output = tfx_factories.artifact(standard_artifacts.TransformGraph, tmp_path / "transform")
    node = component.Transform(
        examples=types.Channel(type=standard_artifacts.Examples),
        data=input_factories.TEXT,
        split="train",
    )
    executor.Executor().Do(
        {"examples": [examples]}, {"transform_graph": [output]}, node.exec_properties
    )
    found = fitted.read(pathlib.Path(output.uri))
    assert found.words == ("good", "bad", "food", "!")
    assert output.get_string_custom_property("digest") == fitted.digest(found)
    assert json.loads((tmp_path / "transform" / "transform.json").read_text())["kind"] == "text"
