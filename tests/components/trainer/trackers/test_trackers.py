"""Runs recorded in a real MLflow database, and by W&B off-line."""

import json
import os

import mlflow
import pytest

from components.trainer import logs, loop, session
from components.trainer.trackers import hook, names
from tests.components.trainer import toy

_SETTINGS = {"seed": 7, "training": {"num_epochs": 2}}


@pytest.fixture
def client(tmp_path, monkeypatch):
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    return mlflow.MlflowClient(uri)


def _open(name, directory, *, is_resumed=False):
    hooks = hook.open_trackers(
        [name],
        project="digits",
        settings=_SETTINGS,
        directory=directory,
        is_resumed=is_resumed,
        scale=None,
    )
    return hooks[0]


def _train(hooks, *, num_epochs=2, state=None):
    training_loop = loop.Loop(
        toy.train_step(toy.model()),
        toy.rate(),
        loop.LoopPlan(num_epochs=num_epochs, steps_per_epoch=5, steps_per_execution=2),
        evaluate=lambda: {"loss": 0.5, "accuracy": 0.25},
        hooks=hooks,
        state=state,
    )
    training_loop.run(toy.batches())
    return training_loop.state


def _history(client, directory, key):
    run_id = json.loads((directory / "trackers.json").read_text())["mlflow"]
    return [(m.step, m.value) for m in client.get_metric_history(run_id, key)]


def _run(client, directory):
    return client.get_run(json.loads((directory / "trackers.json").read_text())["mlflow"])


def test_mlflow_has_what_the_log_has(client, tmp_path):
    log = logs.JsonLog(tmp_path / session.LOG_FILE)
    tracker = _open("mlflow", tmp_path)
    _train([log, tracker])
    log.close()
    tracker.close(has_finished=True)
    events = [json.loads(line) for line in (tmp_path / session.LOG_FILE).open()]
    expected = [(e["step"], e["loss"]) for e in events if e["event"] == "steps"]
    assert dict(_history(client, tmp_path, "train/loss")) == pytest.approx(dict(expected))
    assert _history(client, tmp_path, "epoch/val_accuracy") == [(5, 0.25), (10, 0.25)]
    run = _run(client, tmp_path)
    assert run.data.params == {"seed": "7", "training.num_epochs": "2"}
    assert run.info.status == "FINISHED"
    assert client.get_experiment(run.info.experiment_id).name == "digits"


def test_resumed_run_goes_on_under_its_name_without_repeats(client, tmp_path):
    first = _open("mlflow", tmp_path)
    state = _train([first], num_epochs=1)
    first.close(has_finished=False)
    assert _run(client, tmp_path).info.status == "KILLED"
    again = _open("mlflow", tmp_path, is_resumed=True)
    # As after a kill between a checkpoint and the end of the log: some steps come again.
    again._send({"train/loss": 9.0}, 4)
    _train([again], num_epochs=2, state=state)
    again.close(has_finished=True)
    steps = [step for step, _ in _history(client, tmp_path, "train/loss")]
    assert steps == [2, 4, 5, 7, 9, 10]


def test_tracker_that_cannot_be_reached_is_refused_before_training(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nosuch://place")
    with pytest.raises(names.TrackerError, match=r"tracker mlflow cannot be used.*Mend its envir"):
        _open("mlflow", tmp_path)


class _FailingTracker:
    run_id = "1"

    def __init__(self):
        self.calls = 0

    def log(self, values, global_step):
        self.calls += 1
        raise ConnectionError("the server is gone")

    def close(self, *, has_finished):
        self.calls += 1


def test_tracker_that_fails_is_left_out_and_training_goes_on(monkeypatch):
    read_end, write_end = os.pipe()
    monkeypatch.setenv("KERASLINE_PROGRESS_FD", str(write_end))
    failing = _FailingTracker()
    tracker = hook.TrackerHook("mlflow", failing)
    state = _train([tracker])
    tracker.close(has_finished=True)
    os.close(write_end)
    with os.fdopen(read_end) as lines:
        messages = [json.loads(line)["text"] for line in lines]
    assert len(state.records) == 2
    assert failing.calls == 1
    assert messages == [
        "The tracker mlflow failed and records no more of this run; training goes on. It said: "
        "the server is gone"
    ]


def test_wandb_records_off_line(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    tracker = _open("wandb", tmp_path)
    _train([tracker])
    tracker.close(has_finished=True)
    run_id = json.loads((tmp_path / "trackers.json").read_text())["wandb"]
    (record,) = tmp_path.glob(f"wandb/offline-run-*/run-{run_id}.wandb")
    assert b"train/loss" in record.read_bytes()


def test_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(names.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(names.TrackerError, match=r"wandb needs a package.*pip install '.\[wandb"):
        names.check_installed(["wandb"])


def test_unknown_tracker_lists_the_valid_ones():
    with pytest.raises(names.TrackerError, match="among mlflow, wandb. Received: 'mlfow'"):
        names.check_installed(["mlfow"])
