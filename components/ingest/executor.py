"""Adapts `ingest` to TFX."""

import json
import pathlib
import posixpath
import shutil
from typing import Any

import tensorflow as tf
from tfx import types
from tfx.components.util import examples_utils
from tfx.dsl.components.base import base_beam_executor
from tfx.proto import example_gen_pb2
from tfx.types import artifact_utils

from components import progress
from components.ingest import atomic, cache_location, config, ingest, spreading

STEP = "ingest"


class Executor(base_beam_executor.BaseBeamExecutor):
    """Puts the dataset of the cache into an Examples artifact."""

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Fills the `examples` artifact: `Split-<name>/data_tfrecord-*` and the manifest.

        Raises:
            DataError: If the source is missing, damaged or contradicts the recipe.
        """
        data = config.DataConfig.from_dict(json.loads(exec_properties["data"]))
        dataset = ingest.ingest(
            data,
            seed=exec_properties["seed"],
            cache_dir=cache_location.cache_dir(),
            processes=spreading.choose(self._beam_pipeline_args),
        )
        examples = artifact_utils.get_single_instance(output_dict["examples"])
        place(dataset.path, examples.uri)
        splits = dataset.manifest.splits
        examples.split_names = artifact_utils.encode_split_names(list(splits))
        examples.set_string_custom_property("digest", dataset.digest)
        examples_utils.set_payload_format(examples, example_gen_pb2.FORMAT_TF_EXAMPLE)
        num_rows = sum(split.num_rows for split in splits.values())
        progress.report("rows", step=STEP, rows=num_rows, total=num_rows)


def place(source: pathlib.Path, target: str) -> None:
    """Gives `target` the files of `source`, without copying where both are on one file system.

    Args:
        source: A folder that is never changed once it is there.
        target: A folder, whose files are kept if they are there already, or an address that
            TensorFlow's file systems know, such as gs://bucket/folder.
    """
    if "://" in target:
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            copy = posixpath.join(target, path.relative_to(source).as_posix())
            tf.io.gfile.makedirs(posixpath.dirname(copy))
            tf.io.gfile.copy(str(path), copy, overwrite=True)
        return
    shutil.copytree(source, target, copy_function=atomic.link_or_copy, dirs_exist_ok=True)
