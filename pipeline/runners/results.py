"""Reads what a run made from ML Metadata."""

import dataclasses
import posixpath
from collections.abc import Mapping
from typing import Any

from ml_metadata.proto import metadata_store_pb2
from tfx.orchestration import metadata
from tfx.orchestration.portable.mlmd import execution_lib
from tfx.types import artifact

from components.evaluator import outcome
from components.report import render


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """What a run made, as far as it came.

    Attributes:
        evaluation: What the evaluation found.
        findings: What the data guard found, as its findings say.
        report_path: The report's page.
        published_path: Folder of the published model.
        published_version: Its number.
    """

    evaluation: outcome.AnyOutcome | None = None
    findings: tuple[dict[str, Any], ...] = ()
    report_path: str | None = None
    published_path: str | None = None
    published_version: int | None = None


def read(
    connection: metadata_store_pb2.ConnectionConfig, execution_ids: Mapping[str, int]
) -> Results:
    """Reads the results of the steps that succeeded, now or in the run they are cached from.

    Args:
        connection: The store.
        execution_ids: Node id -> its execution.
    """
    if not execution_ids:
        # The store may not even be there.
        return Results()
    with metadata.Metadata(connection) as store:
        findings = _output(store, execution_ids.get("data_guard"), "findings")
        evaluation = _output(store, execution_ids.get("evaluator"), "evaluation")
        report = _output(store, execution_ids.get("report"), "report")
        published = _output(store, execution_ids.get("publisher"), "published")
    results = Results()
    if findings is not None:
        results = dataclasses.replace(results, findings=tuple(findings.read()["findings"]))
    if evaluation is not None:
        results = dataclasses.replace(results, evaluation=outcome.read(evaluation.uri))
    if report is not None:
        path = posixpath.join(report.uri, render.FILE_NAME)
        results = dataclasses.replace(results, report_path=path)
    if published is not None:
        results = dataclasses.replace(
            results,
            published_path=published.get_string_custom_property("pushed_destination"),
            published_version=int(published.get_string_custom_property("pushed_version")),
        )
    return results


def _output(
    store: metadata.Metadata, execution_id: int | None, key: str
) -> artifact.Artifact | None:
    if execution_id is None:
        return None
    return execution_lib.get_output_artifacts(store, execution_id)[key][0]
