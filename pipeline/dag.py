"""The DAG of a recipe."""

import posixpath
from collections.abc import Mapping
from typing import Any

from ml_metadata.proto import metadata_store_pb2
from tfx import types
from tfx.components.example_validator import component as example_validator
from tfx.components.trainer import component as trainer
from tfx.dsl.components.base import base_node
from tfx.dsl.components.common import resolver
from tfx.orchestration import pipeline
from tfx.proto import trainer_pb2

from components.data_guard import component as data_guard
from components.evaluation_gate import component as evaluation_gate
from components.evaluator import baseline
from components.evaluator import component as evaluator
from components.ingest import component as ingest
from components.ingest.features import config as data_config
from components.model_check import component as model_check
from components.publisher import component as publisher
from components.reference import component as reference
from components.report import component as report
from components.schema import component as schema
from components.statistics import component as statistics
from components.transform import component as transform
from components.transform.config import FITTED_INPUTS
from components.validation_gate import component as validation_gate
from pipeline import config

RUN_FN = "components.trainer.run_fn.run_fn"
# The trainer learns from these alone, so that another threshold does not train again.
_TRAINER_KEYS = ("schema_version", "name", "task", "seed", "data", "input", "model", "training")


def create_pipeline(
    recipe: config.Recipe,
    run: config.RunConfig,
    *,
    fingerprints: Mapping[str, str],
    enable_cache: bool = True,
    pipeline_name: str | None = None,
    baseline_strategy: type[resolver.ResolverStrategy] = baseline.PassedModelStrategy,
) -> pipeline.Pipeline:
    """Returns the TFX pipeline of a recipe; touches no file and no address.

    Args:
        recipe: What is learned.
        run: Where it runs; `root` becomes the base of the pipeline root and the published models.
        fingerprints: Node id -> digest of all that the node's result depends on. A node runs again
            when its digest, its other settings or its inputs changed. A missing node gets an empty
            digest.
        enable_cache: False to run every node, whatever ran before.
        pipeline_name: The recipe's name if left out.
        baseline_strategy: Finds the model that a new one is compared with, for a runner that knows
            TFX's own strategies alone.

    Raises:
        ValueError: If recipe and run contradict each other.
    """
    config.check_run(recipe, run)
    folder = posixpath.join(run.root, recipe.name)
    return pipeline.Pipeline(
        pipeline_name=pipeline_name or recipe.name,
        pipeline_root=posixpath.join(folder, "artifacts"),
        metadata_connection_config=_sqlite(posixpath.join(folder, "metadata.sqlite")),
        components=_Nodes(recipe, run, fingerprints, baseline_strategy).all(),
        enable_cache=enable_cache,
        beam_pipeline_args=list(run.beam_options),
    )


def _sqlite(path: str) -> metadata_store_pb2.ConnectionConfig:
    """Does what TFX's `sqlite_metadata_connection_config` does, without making the folder."""
    connection = metadata_store_pb2.ConnectionConfig()
    connection.sqlite.filename_uri = path
    connection.sqlite.connection_mode = (
        metadata_store_pb2.SqliteMetadataSourceConfig.READWRITE_OPENCREATE
    )
    return connection


class _Nodes:
    """Builds the nodes of one pipeline, each after those it reads from."""

    def __init__(
        self,
        recipe: config.Recipe,
        run: config.RunConfig,
        fingerprints: Mapping[str, str],
        baseline_strategy: type[resolver.ResolverStrategy],
    ):
        self._recipe = recipe
        self._run = run
        self._fingerprints = fingerprints
        self._baseline_strategy = baseline_strategy
        self._nodes: dict[str, base_node.BaseNode] = {}

    def all(self) -> list[base_node.BaseNode]:
        self._add_data_steps()
        if self._recipe.data.input_name in FITTED_INPUTS:
            self._add_transform()
        self._add_trainer()
        self._add_evaluation_steps()
        self._add_publishing_steps()
        return list(self._nodes.values())

    def _add(self, node_id: str, node: base_node.BaseNode) -> None:
        self._nodes[node_id] = node.with_id(node_id)

    def _output(self, node_id: str, key: str) -> types.BaseChannel:
        return self._nodes[node_id].outputs[key]

    def _fingerprint(self, node_id: str) -> str:
        return self._fingerprints.get(node_id, "")

    def _add_data_steps(self) -> None:
        data = self._recipe.data
        self._add(
            "ingest",
            ingest.Ingest(
                data=data, seed=self._recipe.seed, fingerprint=self._fingerprint("ingest")
            ),
        )
        self._add(
            "schema",
            schema.CuratedSchema(data=data, fingerprint=self._fingerprint("schema")),
        )
        self._add(
            "statistics",
            statistics.StatisticsGen(
                examples=self._output("ingest", "examples"),
                schema=self._output("schema", "schema"),
                num_classes=len(data.class_names),
                fingerprint=self._fingerprint("statistics"),
            ),
        )
        self._add(
            "validation",
            example_validator.ExampleValidator(
                statistics=self._output("statistics", "statistics"),
                schema=self._output("schema", "schema"),
            ),
        )
        self._add(
            "validation_gate",
            validation_gate.ValidationGate(
                statistics=self._output("statistics", "statistics"),
                anomalies=self._output("validation", "anomalies"),
                class_names=data.class_names,
                fingerprint=self._fingerprint("validation_gate"),
            ),
        )

        self._add(
            "data_guard",
            data_guard.DataGuard(
                examples=self._output("ingest", "examples"),
                guard_config=self._recipe.data_guard,
                fingerprint=self._fingerprint("data_guard"),
            ),
        )
        self._nodes["data_guard"].add_upstream_node(self._nodes["validation_gate"])

    def _add_transform(self) -> None:
        self._add(
            "transform",
            transform.Transform(
                examples=self._output("ingest", "examples"),
                data=self._recipe.data,
                split="train",
                fingerprint=self._fingerprint("transform"),
            ),
        )
        self._nodes["transform"].add_upstream_node(self._nodes["data_guard"])

    def _add_trainer(self) -> None:
        is_fitted = "transform" in self._nodes
        recipe = self._recipe.to_dict()
        self._add(
            "trainer",
            trainer.Trainer(
                run_fn=RUN_FN,
                examples=self._output("ingest", "examples"),
                schema=self._output("schema", "schema"),
                transform_graph=(
                    self._output("transform", "transform_graph") if is_fitted else None
                ),
                train_args=trainer_pb2.TrainArgs(splits=["train"]),
                eval_args=trainer_pb2.EvalArgs(splits=["validation"]),
                custom_config={
                    "recipe": {key: recipe[key] for key in _TRAINER_KEYS if key in recipe},
                    "strategy": self._run.strategy,
                    "data_service": self._run.data_service,
                    "trackers": list(self._run.trackers),
                    "fingerprint": self._fingerprint("trainer"),
                },
            ),
        )
        self._nodes["trainer"].add_upstream_node(self._nodes["data_guard"])

    def _add_evaluation_steps(self) -> None:
        channels = baseline.channels(self._baseline_strategy)
        self._add("baseline", resolver.Resolver(strategy_class=self._baseline_strategy, **channels))
        # Found when it is needed; else TFX would put it first.
        self._nodes["baseline"].add_upstream_node(self._nodes["trainer"])
        is_compared = "transform" in self._nodes
        if is_compared:
            self._add_reference()
        self._add(
            "evaluator",
            evaluator.Evaluator(
                examples=self._output("ingest", "examples"),
                model=self._output("trainer", "model"),
                baseline_model=self._output("baseline", "model"),
                split="test",
                reference=self._output("reference", "answers") if is_compared else None,
                reference_rule=self._recipe.evaluation.reference or "report",
                fingerprint=self._fingerprint("evaluator"),
                **self._thresholds(),
            ),
        )
        self._add(
            "report",
            report.Report(
                class_counts=self._output("validation_gate", "class_counts"),
                findings=self._output("data_guard", "findings"),
                model_run=self._output("trainer", "model_run"),
                evaluation=self._output("evaluator", "evaluation"),
                recipe=self._recipe.to_dict(),
                fingerprint=self._fingerprint("report"),
            ),
        )
        self._add(
            "evaluation_gate",
            evaluation_gate.EvaluationGate(
                evaluation=self._output("evaluator", "evaluation"),
                blessing=self._output("evaluator", "blessing"),
                class_names=self._recipe.data.class_names,
                fingerprint=self._fingerprint("evaluation_gate"),
            ),
        )
        # A refused model has a report too, and that is when it is wanted most.
        self._nodes["evaluation_gate"].add_upstream_node(self._nodes["report"])

    def _add_reference(self) -> None:
        self._add(
            "reference",
            reference.Reference(
                examples=self._output("ingest", "examples"),
                transform_graph=self._output("transform", "transform_graph"),
                data=self._recipe.data,
                fingerprint=self._fingerprint("reference"),
            ),
        )
        # On one machine the two would be in each other's way.
        self._nodes["reference"].add_upstream_node(self._nodes["trainer"])

    def _thresholds(self) -> dict[str, Any]:
        evaluation, data = self._recipe.evaluation, self._recipe.data
        if data.predicts_numbers:
            return {"numbers": evaluator.numbers_settings(evaluation.of_numbers(), data.series)}
        return {
            "eval_config": evaluator.make_eval_config(
                evaluation.of_classes(), label_name=data_config.LABEL_FEATURE
            )
        }

    def _add_publishing_steps(self) -> None:
        data = self._recipe.data
        self._add(
            "model_check",
            model_check.ModelCheck(
                examples=self._output("ingest", "examples"),
                model=self._output("trainer", "model"),
                data=data,
                split="test",
                fingerprint=self._fingerprint("model_check"),
            ),
        )
        self._nodes["model_check"].add_upstream_node(self._nodes["evaluation_gate"])
        self._add(
            "publisher",
            publisher.Publisher(
                model=self._output("trainer", "model"),
                blessing=self._output("evaluator", "blessing"),
                infra_blessing=self._output("model_check", "blessing"),
                published_dir=posixpath.join(self._run.root, self._recipe.name, "published"),
                fingerprint=self._fingerprint("publisher"),
            ),
        )
