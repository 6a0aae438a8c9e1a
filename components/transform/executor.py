"""Adapts `fit` to TFX."""

import json
import pathlib
import posixpath
from typing import Any

import tensorflow as tf
from tfx import types
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils

from components.ingest import config
from components.transform import fit, fitted


class Executor(base_executor.BaseExecutor):
    """Learns vocabularies, means and deviations of one split."""

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Writes `transform.json` into the `transform_graph` artifact.

        Raises:
            ValueError: If a column or the text is empty everywhere.
        """
        data = config.DataConfig.from_dict(json.loads(exec_properties["data"]))
        split_uri = artifact_utils.get_split_uri(input_dict["examples"], exec_properties["split"])
        found = fit.fit(tf.io.gfile.glob(posixpath.join(split_uri, "*")), data)
        artifact = artifact_utils.get_single_instance(output_dict["transform_graph"])
        fitted.write(found, pathlib.Path(artifact.uri))
        artifact.set_string_custom_property("digest", fitted.digest(found))
