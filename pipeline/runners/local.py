"""Runs a pipeline on this machine, in this process."""

import datetime
import pathlib
import time
from typing import Protocol

from ml_metadata.proto import metadata_store_pb2
from tfx.dsl.compiler import constants
from tfx.orchestration import metadata
from tfx.orchestration.local import local_dag_runner, runner_utils
from tfx.orchestration.portable import launcher, runtime_parameter_utils
from tfx.proto.orchestration import local_deployment_config_pb2, pipeline_pb2


class Observer(Protocol):
    """Who is told when a node starts and ends."""

    def started(self, node_id: str) -> None:
        """Called before a node runs."""

    def finished(
        self, node_id: str, *, execution_id: int | None, seconds: float, cached: bool
    ) -> None:
        """Called after a node has succeeded.

        Args:
            node_id: The node.
            execution_id: Its execution in ML Metadata, if it has one.
            seconds: Wall clock of the node.
            cached: True if TFX took the outputs of an earlier execution.
        """


class _Silent:
    def started(self, node_id: str) -> None: ...

    def finished(
        self, node_id: str, *, execution_id: int | None, seconds: float, cached: bool
    ) -> None: ...


class LocalRunner(local_dag_runner.LocalDagRunner):
    """TFX's LocalDagRunner, which also tells an observer how far it is.

    It is a LocalDagRunner, so the `tfx` command finds it when told `--engine local`.
    """

    def __init__(self, observer: Observer | None = None):
        super().__init__()
        self._observer: Observer = observer or _Silent()

    def run_with_ir(
        self,
        pipeline: pipeline_pb2.Pipeline,
        run_options: pipeline_pb2.RunOptions | None = None,
    ) -> None:
        """Runs the nodes one after another, each after those it reads from.

        Raises:
            NotImplementedError: If `run_options` asks for a part of the pipeline.
            Exception: What a node's executor raised; no later node runs.
        """
        if run_options is not None:
            raise NotImplementedError(
                "A part of a pipeline cannot be named; unchanged nodes are taken from the cache. "
                f"Received: run_options={run_options}."
            )
        run_id = datetime.datetime.now(datetime.UTC).isoformat()
        runtime_parameter_utils.substitute_runtime_parameter(
            pipeline, {constants.PIPELINE_RUN_ID_PARAMETER_NAME: run_id}
        )
        deployment = runner_utils.extract_local_deployment_config(pipeline)
        connections = deployment.metadata_connection_config
        store = getattr(connections, connections.WhichOneof("connection_config"))
        pathlib.Path(store.sqlite.filename_uri).parent.mkdir(parents=True, exist_ok=True)
        for node in pipeline.nodes:
            self._run_node(node.pipeline_node, pipeline, deployment, store)

    def _run_node(
        self,
        node: pipeline_pb2.PipelineNode,
        pipeline: pipeline_pb2.Pipeline,
        deployment: local_deployment_config_pb2.LocalDeploymentConfig,
        store: metadata_store_pb2.ConnectionConfig,
    ) -> None:
        node_id = node.node_info.id
        self._observer.started(node_id)
        started = time.monotonic()
        executor = runner_utils.extract_executor_spec(deployment, node_id)
        info = launcher.Launcher(
            pipeline_node=node,
            mlmd_connection=metadata.Metadata(store),
            pipeline_info=pipeline.pipeline_info,
            pipeline_runtime_spec=pipeline.runtime_spec,
            executor_spec=executor,
        ).launch()
        self._observer.finished(
            node_id,
            execution_id=info.execution_id if info else None,
            seconds=time.monotonic() - started,
            # TFX makes no folder for an execution that takes its outputs from the cache.
            cached=executor is not None and info is not None and not info.execution_output_uri,
        )
