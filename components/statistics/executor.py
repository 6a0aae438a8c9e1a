"""Adapts streaming statistics to TFX."""

import posixpath
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from tensorflow_data_validation.statistics import stats_impl, stats_options
from tensorflow_metadata.proto.v0 import statistics_pb2
from tfx import types
from tfx.components.statistics_gen import executor as statistics_gen
from tfx.components.util import tfxio_utils
from tfx.dsl.io import fileio
from tfx.types import artifact_utils
from tfx.utils import io_utils
from tfx_bsl.tfxio import dataset_options

# Large enough that the cost of each call vanishes, small enough to stay in the cache.
_ROWS_PER_BATCH = 4096


class Executor(statistics_gen.Executor):
    """Computes statistics in this process when no Beam runner is named, else as TFX does.

    TFX runs its Beam graph on a runner that copies every batch between stages. The generators of
    TensorFlow Data Validation give the same result when they are fed batch by batch, in memory that
    does not grow.
    """

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Writes `Split-<name>/FeatureStats.pb` into the `statistics` artifact for each split."""
        schema_uri = artifact_utils.get_single_uri(input_dict["schema"])
        schema = io_utils.SchemaReader().read(io_utils.get_only_uri_in_dir(schema_uri))
        options = stats_options.StatsOptions.from_json(exec_properties["stats_options_json"])
        if any(argument.startswith("--runner") for argument in self._beam_pipeline_args):
            # TFX reads what the schema does not name too, which would then be an anomaly.
            options.feature_allowlist = [feature.name for feature in schema.feature]
            named = {**exec_properties, "stats_options_json": options.to_json()}
            super().Do(input_dict, output_dict, named)
            return
        options.schema = schema
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        statistics = artifact_utils.get_single_instance(output_dict["statistics"])
        statistics.split_names = examples.split_names
        statistics.span = examples.span
        for split in artifact_utils.decode_split_names(examples.split_names):
            result = stream_statistics(_record_batches(examples, split, schema), options)
            _write(result, posixpath.join(statistics.uri, f"Split-{split}"))


def stream_statistics(
    batches: Iterable[pa.RecordBatch], options: stats_options.StatsOptions
) -> statistics_pb2.DatasetFeatureStatisticsList:
    """Computes the statistics of one dataset that arrives in batches.

    Args:
        batches: Batches of one Arrow schema; at least one.
        options: As TensorFlow Data Validation takes them.
    """
    generators = stats_impl.get_generators(options, in_memory=True)
    for generator in generators:
        generator.setup()
    accumulators = [generator.create_accumulator() for generator in generators]
    for batch in batches:
        accumulators = [
            generator.add_input(accumulator, batch)
            for generator, accumulator in zip(generators, accumulators, strict=True)
        ]
    return stats_impl.extract_statistics_output(accumulators, generators)


def _record_batches(examples: types.Artifact, split: str, schema: Any) -> Iterator[pa.RecordBatch]:
    # With a schema, the reader leaves out every feature that the schema does not name.
    source = tfxio_utils.get_split_tfxio(
        examples=[examples], split=split, telemetry_descriptors=["Statistics"], schema=schema
    )
    options = dataset_options.RecordBatchesOptions(
        batch_size=_ROWS_PER_BATCH, num_epochs=1, shuffle=False
    )
    yield from source.RecordBatches(options)


def _write(result: statistics_pb2.DatasetFeatureStatisticsList, split_uri: str) -> None:
    fileio.makedirs(split_uri)
    path = posixpath.join(split_uri, statistics_gen.DEFAULT_FILE_NAME)
    with fileio.open(path, "wb") as file:
        file.write(result.SerializeToString())
