"""Adapts the reference to TFX."""

import json
import pathlib
import posixpath
from typing import Any

import tensorflow as tf
from tfx import types
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils

from components import progress
from components.ingest import config
from components.reference import answers, learn
from components.transform import fitted

STEP = "reference"


class Executor(base_executor.BaseExecutor):
    """Fits a simple learner to the training split."""

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Writes its answers on the test split into the `answers` artifact."""
        data = config.DataConfig.from_dict(json.loads(exec_properties["data"]))
        folder = artifact_utils.get_single_uri(input_dict["transform_graph"])
        shards = {
            split: tf.io.gfile.glob(
                posixpath.join(artifact_utils.get_split_uri(input_dict["examples"], split), "*")
            )
            for split in ("train", "test")
        }
        found = learn.learn(
            data,
            fitted.read(pathlib.Path(folder)),
            train_shards=shards["train"],
            test_shards=shards["test"],
        )
        progress.report("message", step=STEP, text=f"{found.name}, {found.num_train:,} rows")
        answers.write(found, pathlib.Path(artifact_utils.get_single_uri(output_dict["answers"])))
