"""The raw values of an input: as ingested examples hold them, and as clients send them.

Axes: B batch, T steps of the past or of a list, C channels.
"""

import math
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from components.ingest.config import DataConfig
from components.ingest.features.config import (
    HISTORY_FEATURE,
    TableFeature,
)

RawValues = dict[str, tf.Tensor]


def raw_specs(data: DataConfig) -> dict[str, tf.TensorSpec]:
    """Returns the name, dtype and shape of each raw value of the recipe's input.

    An image, a text or a recording is a string (B,). Each column of a table is its own value: a
    number is float32 (B,), NaN where missing, a category is a string (B,), empty where missing, and
    a list of numbers is float32 (B, T), or (B, T, C) with several channels, NaN where missing.
    The past of a series is float32 (B, T, C), the value first and its covariates after it.
    """
    shapes = _list_shapes(data)
    return {
        name: tf.TensorSpec((None, *shapes.get(name, _shape(data))), dtype, name=name)
        for name, dtype in _dtypes(data).items()
    }


def example_features(data: DataConfig) -> dict[str, Any]:
    """Returns how `tf.io.parse_example` finds the raw values in an ingested example."""
    if data.table is None:
        shape = _shape(data)
        return {name: tf.io.FixedLenFeature(shape, dtype) for name, dtype in _dtypes(data).items()}
    # Ragged, because a missing value may be an empty list, which a fixed length refuses.
    return {
        name: tf.io.RaggedFeature(dtype, row_splits_dtype=tf.int64)
        for name, dtype in _dtypes(data).items()
    }


def raw_values(parsed: Mapping[str, Any], data: DataConfig) -> RawValues:
    """Turns what was parsed by `example_features` into dense values, as `raw_specs` says."""
    if data.table is None:
        return {name: parsed[name] for name in _dtypes(data)}
    shapes = _list_shapes(data)
    return {name: _dense(parsed[name], shapes.get(name, ())) for name in _dtypes(data)}


def _dense(values: tf.RaggedTensor, shape: tuple[int, ...]) -> tf.Tensor:
    """Returns values of a shape for each row; what there is too little of is missing."""
    missing = "" if values.dtype == tf.string else math.nan
    flat_BV = values.to_tensor(missing, shape=(None, math.prod(shape)))
    return tf.reshape(flat_BV, (-1, *shape))


def _list_shapes(data: DataConfig) -> dict[str, tuple[int, ...]]:
    found = data.table.sequences() if data.table else {}
    return {name: column.shape for name, column in found.items()}


def _dtypes(data: DataConfig) -> dict[str, tf.DType]:
    if data.table is not None:
        return _column_dtypes(data.table)
    if data.series is not None:
        return {HISTORY_FEATURE: tf.float32}
    # The input is called what its table in the recipe is.
    return {data.input_name: tf.string}


def _shape(data: DataConfig) -> tuple[int, ...]:
    return (data.series.history_steps, data.series.num_channels) if data.series else ()


def _column_dtypes(table: TableFeature) -> dict[str, tf.DType]:
    return {
        name: tf.string if column.kind == "category" else tf.float32
        for name, column in table.columns.items()
    }
