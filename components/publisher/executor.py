"""Adapts `publish` to TFX."""

from typing import Any

from tfx import types
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components import gates
from components.publisher import publish

STEP = "publisher"


class Executor(base_executor.BaseExecutor):
    """Publishes a blessed model."""

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Publishes, and notes path and version on the `published` artifact.

        Raises:
            GateRefusedError: If the model is not blessed.
        """
        blessing = artifact_utils.get_single_instance(input_dict["blessing"])
        infra_blessing = artifact_utils.get_single_instance(input_dict["infra_blessing"])
        for name, artifact in (("evaluator", blessing), ("model check", infra_blessing)):
            if artifact.get_int_custom_property("blessed") != 1:
                raise gates.GateRefusedError(
                    STEP, f"Only a blessed model is published, and the {name} did not bless it."
                )
        model_uri = artifact_utils.get_single_uri(input_dict["model"])
        published = publish.publish(
            path_utils.serving_model_path(model_uri), exec_properties["published_dir"]
        )
        artifact = artifact_utils.get_single_instance(output_dict["published"])
        artifact.set_string_custom_property("pushed_destination", str(published.path))
        artifact.set_string_custom_property("pushed_version", str(published.version))
        artifact.set_int_custom_property("pushed", int(published.is_new))
