"""The DAG has the nodes of the step table, in an order that works, and touches nothing."""

import json

import pytest
from tfx.dsl.compiler import compiler

from pipeline import dag, recipe_files
from pipeline.config import RunConfig
from pipeline.state import steps

_FINGERPRINTS = {step.name: f"digest of {step.name}" for step in steps.STEPS}


def _compile(*, recipe_name="digits", set_values=(), root="/no/such/root", **options):
    recipe = recipe_files.load(recipe_name, set_values)
    options = {"fingerprints": _FINGERPRINTS, **options}
    pipeline = dag.create_pipeline(recipe, RunConfig(root=root), **options)
    return compiler.Compiler().compile(pipeline)


@pytest.fixture(scope="module")
def compiled():
    return _compile()


def _nodes(compiled):
    return {node.pipeline_node.node_info.id: node.pipeline_node for node in compiled.nodes}


def _parameter(node, name):
    return node.parameters.parameters[name].field_value.string_value


def test_the_nodes_are_the_steps_in_the_order_of_the_table(compiled):
    assert list(_nodes(compiled)) == [step.name for step in steps.of("image")]


def test_every_node_comes_after_those_it_reads_from(compiled):
    seen = set()
    for node_id, node in _nodes(compiled).items():
        assert set(node.upstream_nodes) <= seen
        seen.add(node_id)


@pytest.mark.parametrize("name", [step.name for step in steps.of("image")])
def test_a_node_waits_for_the_steps_that_the_table_names(compiled, name):
    nodes = _nodes(compiled)
    waits_for, pending = set(), list(nodes[name].upstream_nodes)
    while pending:
        node_id = pending.pop()
        waits_for.add(node_id)
        pending += nodes[node_id].upstream_nodes
    assert set(steps.BY_NAME[name].upstream) & set(nodes) <= waits_for


def test_the_gates_stand_before_training_and_publishing(compiled):
    nodes = _nodes(compiled)
    assert "validation_gate" in nodes["data_guard"].upstream_nodes
    assert "data_guard" in nodes["trainer"].upstream_nodes
    assert "evaluation_gate" in nodes["model_check"].upstream_nodes
    assert "model_check" in nodes["publisher"].upstream_nodes


def test_fingerprints_are_execution_properties(compiled):
    nodes = _nodes(compiled)
    for name in set(nodes) - {"validation", "baseline", "trainer"}:
        assert _parameter(nodes[name], "fingerprint") == f"digest of {name}"
    custom_config = json.loads(_parameter(nodes["trainer"], "custom_config"))
    assert custom_config["fingerprint"] == "digest of trainer"


def test_functions_are_named_by_dotted_paths(compiled):
    trainer = _nodes(compiled)["trainer"]
    assert _parameter(trainer, "run_fn") == "components.trainer.run_fn.run_fn"
    assert "module_file" not in trainer.parameters.parameters


def _changed_nodes(before, after):
    before, after = _nodes(before), _nodes(after)
    return {name for name in before if before[name] != after[name]}


def test_a_threshold_is_not_told_to_the_trainer(compiled):
    changed = _changed_nodes(compiled, _compile(set_values=["evaluation.min_accuracy=0.95"]))
    assert changed == {"evaluator", "report"}


def test_a_training_setting_is_told_to_the_trainer(compiled):
    changed = _changed_nodes(compiled, _compile(set_values=["training.num_epochs=3"]))
    assert changed == {"trainer", "report"}


def test_the_same_arguments_give_the_same_pipeline(compiled):
    assert compiled.SerializeToString(deterministic=True) == _compile().SerializeToString(
        deterministic=True
    )


def test_a_bucket_is_named_and_not_touched():
    compiled = _compile(root="gs://no-such-bucket/runs")
    root = compiled.runtime_spec.pipeline_root.runtime_parameter.default_value.string_value
    assert root == "gs://no-such-bucket/runs/digits/artifacts"
    published_dir = _parameter(_nodes(compiled)["publisher"], "published_dir")
    assert published_dir == "gs://no-such-bucket/runs/digits/published"


def test_the_working_directory_stays_empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _compile(root="runs")
    assert list(tmp_path.iterdir()) == []


def test_the_cache_can_be_turned_off():
    nodes = _nodes(_compile(enable_cache=False))
    assert not nodes["trainer"].execution_options.caching_options.enable_cache


def test_a_table_is_fitted_before_it_is_learned_from():
    nodes = _nodes(_compile(recipe_name="taxi"))
    assert list(nodes) == [step.name for step in steps.of("table")]
    assert "data_guard" in nodes["transform"].upstream_nodes
    (channel,) = nodes["trainer"].inputs.inputs["transform_graph"].channels
    assert channel.producer_node_query.id == "transform"
