"""Builds the schema that a recipe's examples must meet.

The schema comes from the recipe, not from the data: a schema inferred from the training split would
accept whatever mistakes that split holds.
"""

from tensorflow_metadata.proto.v0 import schema_pb2

from components.ingest.config import DataConfig
from components.ingest.features import config


def curated_schema(data: DataConfig) -> schema_pb2.Schema:
    """Returns the schema of examples that hold a recipe's input and its answer.

    An image, a text and a recording are there once, and so is every step of a series; a column of a
    table may be missing. A label is categorical, so that its statistics count every class.

    Args:
        data: The recipe's data; valid labels are `0` to `len(data.class_names) - 1`.

    >>> label = config.LabelFeature(class_names=("cat", "dog"))
    >>> source = {"kind": "jsonl", "path": "~/pets.jsonl"}
    >>> data = DataConfig.from_dict({"source": source, "text": {}, "label": label.to_dict()})
    >>> [(feature.name, feature.int_domain.max) for feature in curated_schema(data).feature]
    [('text', 0), ('label', 1)]
    """
    schema = schema_pb2.Schema()
    if data.table is not None:
        _add_columns(schema, data.table)
    elif data.series is not None:
        num_values = data.series.history_steps * data.series.num_channels
        _add_numbers(schema, config.HISTORY_FEATURE, num_values)
    else:
        feature = _add_required(schema, data.input_name, schema_pb2.BYTES)
        # The one domain of which TensorFlow Data Validation counts bytes and no contents.
        feature.image_domain.SetInParent()
    if data.label is not None:
        _add_label(schema, data.label)
    if data.predicts_numbers:
        _add_numbers(schema, config.TARGET_FEATURE, data.num_numbers)
    return schema


def _add_columns(schema: schema_pb2.Schema, table: config.TableFeature) -> None:
    for name, column in table.columns.items():
        kind = schema_pb2.BYTES if column.kind == "category" else schema_pb2.FLOAT
        feature = schema.feature.add(name=name, type=kind)
        # A column that is empty everywhere is no column.
        feature.presence.min_count = 1
        feature.value_count.min = 0
        feature.value_count.max = 1
        if isinstance(column, config.SequenceColumn):
            feature.value_count.max = column.length * column.channels


def _add_label(schema: schema_pb2.Schema, label: config.LabelFeature) -> None:
    feature = _add_required(schema, config.LABEL_FEATURE, schema_pb2.INT)
    feature.int_domain.min = 0
    feature.int_domain.max = len(label.class_names) - 1
    feature.int_domain.is_categorical = True


def _add_numbers(schema: schema_pb2.Schema, name: str, num_values: int) -> None:
    feature = _add_required(schema, name, schema_pb2.FLOAT, num_values=num_values)
    feature.float_domain.disallow_nan = True
    feature.float_domain.disallow_inf = True


def _add_required(
    schema: schema_pb2.Schema, name: str, kind: "schema_pb2.FeatureType", *, num_values: int = 1
) -> schema_pb2.Feature:
    feature = schema.feature.add(name=name, type=kind)
    feature.presence.min_fraction = 1.0
    feature.presence.min_count = 1
    feature.value_count.min = num_values
    feature.value_count.max = num_values
    return feature
