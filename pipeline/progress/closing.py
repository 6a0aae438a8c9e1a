"""The last lines of a run, for people: what came of it and what to do next."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from components.evaluator.config import EvaluationConfig
from pipeline.state.summary import RunSummary


def text(summary: RunSummary, evaluation: EvaluationConfig, *, again: str, serve: str) -> str:
    """Says what came of a run.

    Args:
        summary: The run.
        evaluation: The thresholds that the model had to meet.
        again: The command that runs the recipe again, such as `kerasline run digits`.
        serve: The command that serves the recipe's model, such as `kerasline serve digits`.
    """
    lines = [_headline(summary, again), *_facts(summary, evaluation)]
    if summary.published is not None:
        program = shlex.split(serve)[0]
        ask = _ask_command(program, summary.published.path, summary.ask)
        lines += ["", "Serve it:", f"  {serve}", "Ask it:", f"  {ask}"]
    return "\n".join(lines)


def _headline(summary: RunSummary, again: str) -> str:
    if summary.status == "published" and summary.published:
        return f"Published version {summary.published.version} of {summary.recipe}."
    if summary.status == "up_to_date" and summary.published:
        return (
            f"Nothing changed since version {summary.published.version} of {summary.recipe} was "
            "published: recipe, code, packages, data and environment are the same.\n"
            f"To run all the same: {again} --force"
        )
    if summary.status == "gate_refused":
        return f"Refused: {summary.sentence}"
    if summary.status == "interrupted":
        return f"Interrupted. What is done is kept; to go on: {again}"
    return f"Failed: {summary.sentence}"


def _facts(summary: RunSummary, evaluation: EvaluationConfig) -> list[str]:
    facts = _metric_facts(summary.metrics, evaluation)
    if summary.reference:
        facts["beside it"] = summary.reference["sentence"]
    if summary.published:
        facts["model"] = summary.published.path
    if summary.report_path:
        facts["report"] = summary.report_path
    if summary.status != "up_to_date":
        facts["run"] = summary.run_dir
        imports = (
            f", {summary.seconds.imports:.1f} s of them imports" if summary.seconds.imports else ""
        )
        facts["time"] = f"{summary.seconds.total:.1f} s{imports}"
    return [f"  {name:<12} {value}" for name, value in facts.items()]


def _metric_facts(metrics: Mapping[str, Any], evaluation: EvaluationConfig) -> dict[str, str]:
    facts: dict[str, str] = {}
    if "accuracy" in metrics:
        facts["accuracy"] = f"{metrics['accuracy']:.4f} (at least {evaluation.min_accuracy:g})"
    if "mae" in metrics:
        facts |= _error_facts(metrics, evaluation)
    if "worst_class_accuracy" in metrics:
        facts["worst class"] = (
            f"{metrics['worst_class']} {metrics['worst_class_accuracy']:.4f} "
            f"(at least {evaluation.min_class_accuracy:g})"
        )
    return facts


def _error_facts(metrics: Mapping[str, Any], evaluation: EvaluationConfig) -> dict[str, str]:
    at_most = f" (at most {evaluation.max_mae:g})" if evaluation.max_mae is not None else ""
    at_least = f" (at least {evaluation.min_skill:g})" if evaluation.min_skill is not None else ""
    return {
        "mean error": f"{metrics['mae']:.6g}{at_most}",
        "skill": f"{metrics['skill']:.4f}{at_least} beside {metrics['simple']}, "
        f"whose mean error is {metrics['simple_mae']:.6g}",
    }


def _ask_command(program: str, path: str, ask: Sequence[str]) -> str:
    published = path.rstrip("/").rpartition("/")[0]
    return shlex.join([program, "predict", "--model", published, *ask])
