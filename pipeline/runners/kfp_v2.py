"""Writes a recipe's DAG in the language of Kubeflow Pipelines v2, for any service that reads it."""

import pathlib
import tempfile

from tfx.dsl.input_resolution.strategies import latest_blessed_model_strategy
from tfx.orchestration.kubeflow.v2 import kubeflow_v2_dag_runner

from pipeline import dag
from pipeline.config import Recipe, RunConfig

_FILE_NAME = "pipeline.yaml"


def write_yaml(recipe: Recipe, run: RunConfig, output: pathlib.Path, *, schema_2_1: bool) -> None:
    """Writes the pipeline; the file appears whole, and no address in it is touched.

    Args:
        recipe: What is learned.
        run: Where it runs; each step runs in a container of `run.image`.
        output: The file to write, in a folder that exists.
        schema_2_1: True for version 2.1 of the pipeline spec, False for 2.0.
    """
    runner_config = kubeflow_v2_dag_runner.KubeflowV2DagRunnerConfig(
        default_image=run.image, use_pipeline_spec_2_1=schema_2_1
    )
    # On the same file system as `output`, so that it can be renamed.
    with tempfile.TemporaryDirectory(dir=output.absolute().parent) as folder:
        # The cluster knows by itself what it ran before; fingerprints are of this machine.
        pipeline = dag.create_pipeline(
            recipe,
            run,
            fingerprints={},
            # Kubeflow allows no underscore in a name.
            pipeline_name=recipe.name.replace("_", "-"),
            # TFX translates no other strategy than its own.
            baseline_strategy=latest_blessed_model_strategy.LatestBlessedModelStrategy,
        )
        kubeflow_v2_dag_runner.KubeflowV2DagRunner(
            config=runner_config, output_dir=folder, output_filename=_FILE_NAME
        ).run(pipeline)
        pathlib.Path(folder, _FILE_NAME).replace(output)
