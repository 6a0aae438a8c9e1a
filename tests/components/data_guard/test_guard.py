import json

import pytest

from components.data_guard import guard
from components.data_guard.config import DataGuardConfig
from components.data_guard.findings import Finding
from components.gates import GateRefusedError
from tests.components.data_guard import guard_data

CONFIG = DataGuardConfig()


def test_clean_images_give_no_finding(tmp_path):
    folder = guard_data.ingest_arrays(guard_data.clean_arrays(), tmp_path)
    assert guard.find_all(folder, CONFIG) == []


def test_clean_rows_give_no_finding(tmp_path):
    assert guard.find_all(guard_data.Tables.clean().ingest(tmp_path), CONFIG) == []


def test_clean_texts_give_no_finding(tmp_path):
    folder = guard_data.ingest_texts(guard_data.clean_texts(), tmp_path)
    assert guard.find_all(folder, CONFIG) == []


def test_what_stops_the_run_comes_first(tmp_path):
    tables = guard_data.Tables.clean()
    tables.add("constant", lambda labels: labels * 0.0)
    tables.add("copy", lambda labels: labels * 1.0)
    found = guard.find_all(tables.ingest(tmp_path), CONFIG)
    assert [finding.name for finding in found] == ["target_leak", "constant_columns"]
    assert [finding.severity for finding in found] == ["stop", "note"]


FINDING = Finding(
    name="exact_leaks",
    amount=0.05,
    limit=0.001,
    sentence="15 images are in both.",
    examples=(("test/1", "train/2"),),
    cure="Remove them.",
)


def test_refusal_names_amount_limit_examples_and_cure():
    message = (
        r"The data guard found 1 reason to stop. 15 images are in both \(5.00%, at most 0.10%\). "
        r"For example test/1 = train/2. Remove them. "
        r"Or accept with a reason in data_guard.accept: exact_leaks."
    )
    with pytest.raises(GateRefusedError, match=message):
        guard.check([FINDING], CONFIG)


def test_accepted_finding_does_not_stop():
    config = DataGuardConfig(accept={"exact_leaks": "The benchmark is published like this."})
    guard.check([FINDING], config)


def test_acceptance_needs_a_reason_and_a_known_name():
    with pytest.raises(ValueError, match=r"at least 10 characters"):
        DataGuardConfig(accept={"exact_leaks": "ok"})
    with pytest.raises(ValueError, match=r"exact_leak"):
        DataGuardConfig(accept={"exact_leak": "The benchmark is published like this."})


def test_findings_can_be_written_as_json():
    assert json.loads(json.dumps(FINDING.to_dict()))["severity"] == "stop"


def test_a_finding_below_its_limit_warns():
    below = FINDING.__class__(**{**FINDING.__dict__, "amount": 0.0005})
    assert below.severity == "warning" and not below.stops


def test_the_summary_names_each_finding_once():
    assert guard.summary([FINDING, FINDING]) == "found exact_leaks"
