"""Only a model that passed everything is the one that the next must beat."""

import pytest
from ml_metadata.proto import metadata_store_pb2
from tfx.dsl.components.common import resolver
from tfx.orchestration import metadata
from tfx.orchestration.portable.mlmd import artifact_lib, common_utils
from tfx.types import standard_artifacts

from components.evaluator import baseline


@pytest.fixture
def store():
    """ML Metadata, as a run has it, in memory."""
    config = metadata_store_pb2.ConnectionConfig()
    config.fake_database.SetInParent()
    with metadata.Metadata(config) as handler:
        yield handler


def put(store, kind, **properties):
    """Stores an artifact and returns it as a Resolver is given it."""
    artifact = kind()
    artifact.uri = "/model"
    for name, value in properties.items():
        artifact.set_int_custom_property(name, value)
    artifact.mlmd_artifact.type_id = common_utils.register_type_if_not_exist(
        store, artifact.artifact_type
    ).id
    (artifact.id,) = store.store.put_artifacts([artifact.mlmd_artifact])
    return artifact_lib.get_artifacts_by_ids(store, [artifact.id])[0] and artifact


def run_until(store, found, *, evaluated, checked):
    """A run that trained a model; a step that refused it leaves no blessing, as in TFX."""
    model = put(store, standard_artifacts.Model)
    found["model"].append(model)
    found["model_blessing"].append(
        put(store, standard_artifacts.ModelBlessing, blessed=evaluated, current_model_id=model.id)
    )
    if checked:
        found["infra_blessing"].append(
            put(store, standard_artifacts.InfraBlessing, blessed=1, current_model_id=model.id)
        )
    return model


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([(1, 1)], 0),
        ([(1, 1), (1, 0)], 0),
        ([(1, 1), (0, 0), (1, 1)], 2),
        ([(1, 0)], None),
        ([(0, 0)], None),
        ([], None),
    ],
)
def test_the_latest_model_that_passed_everything_is_the_baseline(store, runs, expected):
    found = {"model": [], "model_blessing": [], "infra_blessing": []}
    models = [run_until(store, found, evaluated=good, checked=ok) for good, ok in runs]
    resolved = baseline.PassedModelStrategy().resolve_artifacts(store.store, found)
    assert set(resolved) == set(found)
    ids = [model.id for model in resolved["model"]]
    assert ids == ([] if expected is None else [models[expected].id])


def test_the_resolver_of_the_chain_is_given_all_that_its_strategy_asks_for():
    channels = baseline.channels(baseline.PassedModelStrategy)
    node = resolver.Resolver(strategy_class=baseline.PassedModelStrategy, **channels)
    assert set(node.outputs) == {"model", "model_blessing", "infra_blessing"}
