"""Adapts the validation gate to TFX: reads statistics and anomalies, writes the class counts."""

import json
import posixpath
from typing import Any

from tensorflow_metadata.proto.v0 import anomalies_pb2, statistics_pb2
from tfx import types
from tfx.components.example_validator import executor as example_validator
from tfx.components.statistics_gen import executor as statistics_gen
from tfx.dsl.components.base import base_executor
from tfx.dsl.io import fileio
from tfx.types import artifact_utils

from components.ingest.features import config
from components.validation_gate import gate


class Executor(base_executor.BaseExecutor):
    """Stops the run when the data has anomalies."""

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Checks every split and writes the count of each class into the `class_counts` artifact.

        Raises:
            GateRefusedError: If a split has anomalies, unknown labels or a class without examples.
        """
        class_names = tuple(json.loads(exec_properties["class_names"]))
        statistics = artifact_utils.get_single_instance(input_dict["statistics"])
        anomalies = artifact_utils.get_single_instance(input_dict["anomalies"])
        splits = {
            split: _facts(statistics.uri, anomalies.uri, split, config.LABEL_FEATURE)
            for split in artifact_utils.decode_split_names(statistics.split_names)
        }
        counts = gate.check(splits, class_names)
        artifact_utils.get_single_instance(output_dict["class_counts"]).write(counts)


def _facts(statistics_uri: str, anomalies_uri: str, split: str, label_name: str) -> gate.SplitFacts:
    statistics = statistics_pb2.DatasetFeatureStatisticsList.FromString(
        _read(statistics_uri, split, statistics_gen.DEFAULT_FILE_NAME)
    )
    anomalies = anomalies_pb2.Anomalies.FromString(
        _read(anomalies_uri, split, example_validator.DEFAULT_FILE_NAME)
    )
    dataset = statistics.datasets[0]
    return gate.SplitFacts(
        num_examples=int(dataset.num_examples),
        label_counts=_label_counts(dataset, label_name),
        anomalies=tuple(
            f"{name}: {info.description}" for name, info in sorted(anomalies.anomaly_info.items())
        ),
    )


def _label_counts(
    dataset: statistics_pb2.DatasetFeatureStatistics, label_name: str
) -> dict[int, int]:
    for feature in dataset.features:
        if list(feature.path.step) == [label_name]:
            buckets = feature.string_stats.rank_histogram.buckets
            return {int(bucket.label): int(bucket.sample_count) for bucket in buckets}
    return {}


def _read(uri: str, split: str, name: str) -> bytes:
    with fileio.open(posixpath.join(uri, f"Split-{split}", name), "rb") as file:
        return file.read()
