import json

import pytest
from tfx.types import standard_artifacts

from components import progress
from components.data_guard import executor
from components.gates import GateRefusedError
from tests.components.data_guard import guard_data


def run(arrays, folder, **config):
    examples, findings = standard_artifacts.Examples(), standard_artifacts.JsonValue()
    examples.uri = str(guard_data.ingest_arrays(arrays, folder))
    findings.uri = str(folder / "findings")
    executor.Executor().Do(
        {"examples": [examples]}, {"findings": [findings]}, {"config": json.dumps(config)}
    )
    return findings.read()


def test_leak_stops_the_run_and_is_told(tmp_path, monkeypatch):
    arrays = guard_data.clean_arrays()
    for place in (0, 1):
        arrays["test"][place][:30] = arrays["train"][place][:30]
    events = []
    monkeypatch.setattr(progress, "_listeners", [events.append])
    with pytest.raises(GateRefusedError, match=r"30 images .* are in an earlier split too"):
        run(arrays, tmp_path)
    # The findings are told although the step leaves no artifact.
    (told,) = (event["findings"] for event in events if event["event"] == "data_findings")
    assert [(finding["name"], finding["severity"]) for finding in told] == [("exact_leaks", "stop")]


def test_accepted_leak_is_written_with_its_reason(tmp_path):
    arrays = guard_data.clean_arrays()
    for place in (0, 1):
        arrays["test"][place][:30] = arrays["train"][place][:30]
    accept = {"exact_leaks": "The benchmark is published like this."}
    (written,) = run(arrays, tmp_path, accept=accept)["findings"]
    assert (written["name"], written["severity"]) == ("exact_leaks", "stop")
    assert written["accepted"] == accept["exact_leaks"]
