"""Compiles a recipe for Kubeflow Pipelines."""

import pathlib

from pipeline.config import Recipe, RunConfig
from pipeline.runners import kfp_v2


def compile(recipe: Recipe, run: RunConfig, output: pathlib.Path) -> None:
    """Writes the pipeline as YAML that Kubeflow Pipelines 2 runs.

    Args:
        recipe: What is learned.
        run: Where it runs; `root` must be an address that every container reaches.
        output: The file to write.

    Raises:
        ValueError: If `run.root` is a folder of one machine.
    """
    if "://" not in run.root:
        raise ValueError(
            "`root` must be an address that every container of the cluster reaches, such as "
            f"s3://bucket/runs. Received: root={run.root!r}. Name one with --root."
        )
    kfp_v2.write_yaml(recipe, run, output, schema_2_1=False)
