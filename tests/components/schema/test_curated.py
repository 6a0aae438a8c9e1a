"""The curated schema accepts what the recipe describes and nothing else."""

import pathlib

from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx.types import standard_artifacts

from components.ingest import config
from components.schema import component, curated, executor
from tests.components import input_factories, tfx_factories


def test_labels_run_from_0_to_the_last_class():
    schema = curated.curated_schema(tfx_factories.DATA)
    (label,) = (feature for feature in schema.feature if feature.name == "label")
    assert (label.int_domain.min, label.int_domain.max) == (0, 1)


def test_each_feature_is_required_once():
    schema = curated.curated_schema(tfx_factories.DATA)
    for feature in schema.feature:
        assert feature.presence.min_fraction == 1.0
        assert (feature.value_count.min, feature.value_count.max) == (1, 1)


def test_the_component_writes_the_schema_that_the_recipe_describes(tmp_path):
    node = component.CuratedSchema(data=tfx_factories.DATA)
    artifact = tfx_factories.artifact(standard_artifacts.Schema, tmp_path)
    executor.Executor().Do({}, {"schema": [artifact]}, node.exec_properties)
    text = pathlib.Path(tmp_path, "schema.pbtxt").read_text()
    expected = curated.curated_schema(tfx_factories.DATA)
    assert text_format.Parse(text, schema_pb2.Schema()) == expected


def test_every_step_of_a_series_is_required_and_a_number():
    data = config.DataConfig.from_dict(
        {
            "source": {"kind": "csv", "path": "/d.csv"},
            "series": {
                "time": "t",
                "value": "y",
                "covariates": ["heat"],
                "history_steps": 6,
                "horizon_steps": 3,
            },
            "splits": {"by": "time", "key": "t"},
        }
    )
    sizes = {
        feature.name: (feature.value_count.min, feature.value_count.max)
        for feature in curated.curated_schema(data).feature
    }
    assert sizes == {"history": (12, 12), "target": (3, 3)}
    domains = [feature.float_domain for feature in curated.curated_schema(data).feature]
    assert all(domain.disallow_nan and domain.disallow_inf for domain in domains)


def test_columns_of_a_table_may_be_missing_and_hold_one_value():
    schema = curated.curated_schema(input_factories.TABLE)
    kinds = {feature.name: feature.type for feature in schema.feature}
    assert kinds["miles (km)"] == schema_pb2.FLOAT
    assert kinds["day"] == schema_pb2.BYTES
    for feature in schema.feature[:3]:
        assert (feature.value_count.min, feature.value_count.max) == (0, 1)
        assert feature.presence.min_fraction == 0.0


def test_a_texts_contents_are_left_alone_by_the_statistics():
    schema = curated.curated_schema(input_factories.TEXT)
    assert schema.feature[0].WhichOneof("domain_info") == "image_domain"
