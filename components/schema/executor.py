"""Adapts `curated_schema` to TFX."""

import json
import posixpath
from typing import Any

from google.protobuf import text_format
from tfx import types
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils
from tfx.utils import io_utils

from components.ingest import config
from components.schema import curated

# The name under which TFX's own SchemaGen writes.
SCHEMA_FILE = "schema.pbtxt"


class Executor(base_executor.BaseExecutor):
    """Writes the curated schema as text."""

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Writes `schema.pbtxt` into the `schema` artifact."""
        data = config.DataConfig.from_dict(json.loads(exec_properties["data"]))
        schema = curated.curated_schema(data)
        uri = artifact_utils.get_single_uri(output_dict["schema"])
        io_utils.write_string_file(
            posixpath.join(uri, SCHEMA_FILE), text_format.MessageToString(schema)
        )
