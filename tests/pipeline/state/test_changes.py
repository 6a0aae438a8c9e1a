"""Checks the reasons that are given for running a step."""

import shutil

import pytest

from pipeline import recipe_files
from pipeline.config import RunConfig
from pipeline.state import changes, files, fingerprints, steps
from pipeline.state.request import StepFingerprint
from pipeline.state.summary import Published, RunSummary, Seconds


@pytest.fixture
def artifacts_dir(tmp_path):
    for name in steps.BY_NAME:
        folder = tmp_path / "artifacts" / name / "output"
        folder.mkdir(parents=True)
        (folder / "data").touch()
    return tmp_path / "artifacts"


def _fingerprints(*set_values, environment=None, data="d1"):
    return fingerprints.compute(
        recipe_files.load("digits", set_values),
        RunConfig(),
        data_digest=data,
        environment=environment or {"python": "3.11.7", "packages": "p1"},
    )


def _reasons(step, artifacts_dir, **now):
    set_values = now.pop("set_values", ())
    plans = changes.plan(
        _fingerprints(*set_values, **now), _fingerprints(), artifacts_dir=artifacts_dir
    )
    return {plan.step.name: plan.reasons for plan in plans}[step]


def test_nothing_would_run_when_nothing_changed(artifacts_dir):
    plans = changes.plan(_fingerprints(), _fingerprints(), artifacts_dir=artifacts_dir)
    assert not any(plan.would_run for plan in plans)


def test_without_an_earlier_run_every_step_would_run(artifacts_dir):
    plans = changes.plan(_fingerprints(), None, artifacts_dir=artifacts_dir)
    assert {plan.reasons for plan in plans} == {("it has not run yet",)}


def test_a_changed_key_is_named_with_both_values(artifacts_dir):
    reasons = _reasons("trainer", artifacts_dir, set_values=["training.num_epochs=3"])
    assert reasons == ("training.num_epochs changed: 20 -> 3",)


def test_a_key_that_is_new_was_unset(artifacts_dir):
    reasons = _reasons("trainer", artifacts_dir, set_values=["model.architecture=cnn"])
    assert "model.blocks_per_stage changed: unset -> 1" in reasons


def test_a_step_below_names_the_step_above(artifacts_dir):
    reasons = _reasons("evaluator", artifacts_dir, set_values=["training.num_epochs=3"])
    assert reasons == ("a step before it would run: trainer",)


def test_changed_data_is_named(artifacts_dir):
    assert _reasons("ingest", artifacts_dir, data="d2") == ("the bytes of the data changed",)


def test_data_that_is_not_here_is_named(artifacts_dir):
    assert _reasons("ingest", artifacts_dir, data="absent") == ("the data is not on this machine",)


def test_a_changed_environment_is_named(artifacts_dir):
    reasons = _reasons("ingest", artifacts_dir, environment={"python": "3.12.1", "packages": "p2"})
    assert reasons == (
        "the locked packages changed",
        "the environment's python changed: 3.11.7 -> 3.12.1",
    )


def test_missing_artifacts_are_named(artifacts_dir):
    shutil.rmtree(artifacts_dir / "trainer")
    assert _reasons("trainer", artifacts_dir) == (
        f"its results are gone from {artifacts_dir / 'trainer'}",
    )


def test_changed_code_is_named_file_by_file(artifacts_dir):
    before = _fingerprints()
    now = dict(before)
    now["publisher"] = StepFingerprint(
        **{**before["publisher"].model_dump(), "code": {"a.py": "2", "c.py": "1"}}
    )
    before["publisher"] = StepFingerprint(
        **{**before["publisher"].model_dump(), "code": {"a.py": "1", "b.py": "1"}}
    )
    plans = changes.plan(now, before, artifacts_dir=artifacts_dir)
    assert {plan.step.name: plan.reasons for plan in plans}["publisher"] == (
        "a.py changed",
        "b.py is no longer used",
        "c.py is new",
    )


@pytest.fixture
def published(tmp_path):
    folder = tmp_path / "published" / "1"
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"model")
    (tmp_path / "report.html").touch()
    return RunSummary(
        recipe="digits",
        run_id="r",
        status="published",
        run_dir=str(tmp_path),
        started_at="",
        seconds=Seconds(total=1.0),
        published=Published(path=str(folder), version=1, files=files.digest_tree(folder)),
        report_path=str(tmp_path / "report.html"),
    )


def test_an_intact_run_has_no_damage(published):
    assert changes.damage(published) == []


def test_an_altered_model_is_damage(published, tmp_path):
    path = tmp_path / "published/1/saved_model.pb"
    path.write_bytes(b"other")
    assert changes.damage(published) == [f"the published file {path} was altered"]


def test_a_missing_model_is_damage(published, tmp_path):
    path = tmp_path / "published/1/saved_model.pb"
    path.unlink()
    assert changes.damage(published) == [f"the published file {path} is gone"]


def test_a_missing_report_is_damage(published, tmp_path):
    (tmp_path / "report.html").unlink()
    assert changes.damage(published) == [f"the report {tmp_path / 'report.html'} is gone"]
