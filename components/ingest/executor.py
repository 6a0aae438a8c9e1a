"""Adapts `ingest` to TFX."""

import json
import pathlib
import shutil
from typing import Any

from tfx import types
from tfx.components.util import examples_utils
from tfx.dsl.components.base import base_executor
from tfx.proto import example_gen_pb2
from tfx.types import artifact_utils

from components import progress
from components.ingest import cache_location, config, ingest

STEP = "ingest"


class Executor(base_executor.BaseExecutor):
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
            data, seed=exec_properties["seed"], cache_dir=cache_location.cache_dir()
        )
        examples = artifact_utils.get_single_instance(output_dict["examples"])
        place(dataset.path, pathlib.Path(examples.uri))
        splits = dataset.manifest.splits
        examples.split_names = artifact_utils.encode_split_names(list(splits))
        examples.set_string_custom_property("digest", dataset.digest)
        examples_utils.set_payload_format(examples, example_gen_pb2.FORMAT_TF_EXAMPLE)
        num_rows = sum(split.num_rows for split in splits.values())
        progress.report("rows", step=STEP, rows=num_rows, total=num_rows)


def place(source: pathlib.Path, target: pathlib.Path) -> None:
    """Gives `target` the files of `source`, without copying where both are on one file system.

    Args:
        source: A folder that is never changed once it is there.
        target: A folder; files that are there already are kept.
    """
    shutil.copytree(source, target, copy_function=_link_or_copy, dirs_exist_ok=True)


def _link_or_copy(source: str, target: str) -> None:
    try:
        pathlib.Path(target).hardlink_to(source)
    except FileExistsError:
        return
    except OSError:
        # Another file system, or one without hard links.
        shutil.copyfile(source, target)
