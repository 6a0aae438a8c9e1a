"""Compiles a recipe for Vertex AI Pipelines."""

import pathlib

from pipeline.config import Recipe, RunConfig
from pipeline.runners import kfp_v2


def compile(recipe: Recipe, run: RunConfig, output: pathlib.Path) -> None:
    """Writes the pipeline as YAML that Vertex AI Pipelines runs.

    Args:
        recipe: What is learned.
        run: Where it runs; `root` must be a Cloud Storage address.
        output: The file to write.

    Raises:
        ValueError: If `run.root` is not a Cloud Storage address.
    """
    if not run.root.startswith("gs://"):
        raise ValueError(
            "`root` must be a Cloud Storage address, such as gs://bucket/runs. "
            f"Received: root={run.root!r}. Name one with --root."
        )
    kfp_v2.write_yaml(recipe, run, output, schema_2_1=True)
