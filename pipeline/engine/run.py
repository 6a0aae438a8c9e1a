"""Runs one EngineRequest and reports what happens and what comes of it."""

import dataclasses
import logging
import os
from typing import Any

import absl.logging

from components import gates, progress
from components.evaluator import outcome
from components.ingest import cache_location
from components.model_check import server
from pipeline import dag
from pipeline.config import Recipe
from pipeline.engine import overlap
from pipeline.runners import local, results
from pipeline.state import request


class _Progress:
    """Reports each step, and remembers which executions there were."""

    def __init__(self) -> None:
        self.step = ""
        self.execution_ids: dict[str, int] = {}

    def started(self, node_id: str) -> None:
        self.step = node_id
        progress.report("step_started", step=node_id)

    def finished(
        self, node_id: str, *, execution_id: int | None, seconds: float, cached: bool
    ) -> None:
        if execution_id is not None:
            self.execution_ids[node_id] = execution_id
        progress.report("step_finished", step=node_id, seconds=seconds, cached=cached)


def run_request(request_json: bytes) -> None:
    """Runs a request; returns when the model is published.

    Args:
        request_json: An EngineRequest.

    Raises:
        GateRefusedError: If a gate refused.
        Exception: What a step raised, after it was reported.
    """
    asked = request.EngineRequest.model_validate_json(request_json)
    absl.logging.set_verbosity(absl.logging.WARNING)
    logging.getLogger("apache_beam").setLevel(logging.WARNING)
    os.environ[cache_location.CACHE_DIR_VARIABLE] = asked.cache_dir
    pipeline = dag.create_pipeline(
        asked.recipe,
        asked.run_config,
        fingerprints=asked.digests(),
        enable_cache=not asked.force,
    )
    progress.listen(overlap.on_event)
    seen = _Progress()
    try:
        local.LocalRunner(seen).run(pipeline)
    except gates.GateRefusedError:
        raise
    except Exception as error:
        progress.report("step_failed", step=seen.step, sentence=_sentence(error))
        raise
    finally:
        server.discard()
        connection = pipeline.metadata_connection_config
        _report_result(results.read(connection, seen.execution_ids), asked.recipe)


def _report_result(found: results.Results, recipe: Recipe) -> None:
    progress.report(
        "result",
        metrics=_metrics(found.evaluation, recipe),
        reference=_reference(found.evaluation),
        published_path=found.published_path,
        published_version=found.published_version,
        report_path=found.report_path,
        data_findings=found.findings,
    )


def _metrics(evaluation: outcome.AnyOutcome | None, recipe: Recipe) -> dict[str, float | str]:
    if evaluation is None:
        return {}
    if isinstance(evaluation, outcome.NumbersOutcome):
        return {
            **evaluation.metrics,
            "simple": evaluation.simple_name,
            "simple_mae": evaluation.simple_metrics["mae"],
        }
    worst = evaluation.worst_class()
    return {
        **evaluation.metrics,
        "worst_class": recipe.data.class_names[worst],
        "worst_class_accuracy": evaluation.class_accuracy[worst],
    }


def _reference(evaluation: outcome.AnyOutcome | None) -> dict[str, Any] | None:
    comparison = evaluation and evaluation.comparison
    if not comparison:
        return None
    return {
        **dataclasses.asdict(comparison),
        "verdict": comparison.verdict(),
        "sentence": comparison.sentence(),
    }


def _sentence(error: Exception) -> str:
    """Returns an error as one line; an error that is no sentence is given its kind."""
    text = " ".join(str(error).split())
    return text if text.endswith(".") else f"{type(error).__name__}: {text}."
