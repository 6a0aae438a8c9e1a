import json
import os

import numpy as np
import psutil
import tensorflow as tf

from components.trainer import config, logs, loop, monitors, tensorboard
from tests.components.trainer import toy

_NO_CHANGE = {"loss": 0.5, "accuracy": 0.25}


def _run(train_step, *, rate=None, evaluate=lambda: _NO_CHANGE, hooks=(), state=None, **plan):
    values = {"num_epochs": 2, "steps_per_epoch": 5, "steps_per_execution": 2, **plan}
    training_loop = loop.Loop(
        train_step,
        rate or toy.rate(),
        loop.LoopPlan(**values),
        evaluate=evaluate,
        hooks=hooks,
        state=state,
    )
    return training_loop, training_loop.run(toy.batches())


def test_every_step_of_every_epoch_is_taken_once():
    train_step = toy.train_step(toy.model())
    _, records = _run(train_step)
    assert [record.global_step for record in records] == [5, 10]
    assert int(train_step.global_step) == int(train_step.optimizer.iterations.numpy()) == 10
    assert [record.metrics["val_accuracy"] for record in records] == [0.25, 0.25]


def test_training_learns_and_reports_the_mean_of_the_epoch():
    _, records = _run(toy.train_step(toy.model()), num_epochs=10)
    assert records[-1].metrics["loss"] < records[0].metrics["loss"] / 3
    assert records[-1].metrics["accuracy"] == 1.0


def test_steps_per_execution_changes_nothing():
    finals = []
    for steps_per_execution in (1, 5):
        model = toy.model(dropout_rate=0.5)
        _run(toy.train_step(model), steps_per_execution=steps_per_execution)
        finals.append(model.get_weights())
    for one, five in zip(*finals, strict=True):
        np.testing.assert_array_equal(one, five)


def test_loop_goes_on_in_the_middle_of_an_epoch():
    whole = toy.model()
    _, expected = _run(toy.train_step(whole))
    halves = toy.model()
    train_step = toy.train_step(halves)
    half, _ = _run(train_step, num_epochs=1)
    report = train_step.run(toy.batches(), 2)
    state = loop.LoopState.from_dict(json.loads(json.dumps(half.state.to_dict())))
    state.steps_in_epoch, state.sums = 2, report.totals
    _, records = _run(train_step, state=state)
    assert records[1].metrics == expected[1].metrics
    assert records[1].global_step == 10
    for one, two in zip(whole.get_weights(), halves.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_early_stopping_ends_the_run_after_its_patience():
    losses = iter([1.0, 0.9, 0.95, 0.92, 0.1])
    settings = config.EarlyStoppingConfig(patience_epochs=2)
    training_loop, records = _run(
        toy.train_step(toy.model()),
        evaluate=lambda: {"loss": next(losses), "accuracy": 0.0},
        num_epochs=5,
        early_stopping=monitors.EarlyStopping(settings),
    )
    assert len(records) == 4
    assert training_loop.state.is_stopped


def test_plateau_lowers_the_rate_and_counts_anew():
    losses = iter([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    rate = toy.rate(0.1)
    settings = config.PlateauConfig(factor=0.5, patience_epochs=2)
    _, records = _run(
        toy.train_step(toy.model(), learning_rate=rate),
        rate=rate,
        evaluate=lambda: {"loss": next(losses), "accuracy": 0.0},
        num_epochs=6,
        plateau=monitors.Plateau(settings),
    )
    rates = [round(record.learning_rate, 6) for record in records]
    assert rates == [0.1, 0.1, 0.1, 0.05, 0.05, 0.025]


def test_epochs_are_reported_while_training_runs(monkeypatch):
    read_end, write_end = os.pipe()
    monkeypatch.setenv("KERASLINE_PROGRESS_FD", str(write_end))
    _run(toy.train_step(toy.model()), hooks=[logs.ProgressReport(2)])
    os.close(write_end)
    with os.fdopen(read_end) as lines:
        events = [json.loads(line) for line in lines]
    assert [event["epoch"] for event in events] == [1, 2]
    assert (events[0]["step"], events[0]["num_epochs"]) == ("trainer", 2)
    assert events[0]["metrics"]["val_accuracy"] == 0.25


def test_log_has_a_line_for_each_execution_and_epoch(tmp_path):
    log = logs.JsonLog(tmp_path / "run" / "log.jsonl")
    _run(toy.train_step(toy.model()), hooks=[log])
    log.close()
    events = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").open()]
    assert [event.get("step") for event in events] == [2, 4, 5, None, 7, 9, 10, None]
    assert set(events[3]["gradient_norms"]) == {
        "hidden/kernel",
        "hidden/bias",
        "logits/kernel",
        "logits/bias",
    }
    assert 0 <= events[0]["wait_share"] <= 1


def test_truncated_log_goes_on_without_gap_or_repeat(tmp_path):
    path = tmp_path / "log.jsonl"
    log = logs.JsonLog(path)
    train_step = toy.train_step(toy.model())
    _run(train_step, num_epochs=1, hooks=[log])
    offset = log.offset
    _run(train_step, num_epochs=1, hooks=[log])
    log.close()
    again = logs.JsonLog(path)
    again.truncate(offset)
    _run(train_step, num_epochs=1, hooks=[again])
    again.close()
    events = [json.loads(line) for line in path.open()]
    assert [event["event"] for event in events] == ["steps", "steps", "steps", "epoch"] * 2


def test_tensorboard_files_hold_scalars_histograms_and_settings(tmp_path):
    train_step = toy.train_step(toy.model())
    board = tensorboard.TensorBoardLog(tmp_path, train_step, {"seed": 7})
    _run(train_step, hooks=[board])
    board.close(has_finished=True)
    tags = set()
    graph_nodes = set()
    for path in tmp_path.iterdir():
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            tags.update(value.tag for value in event.summary.value)
            graph = tf.compat.v1.GraphDef.FromString(event.graph_def)
            graph_nodes.update(node.name.split("/")[-2] for node in graph.node if "/" in node.name)
    assert {"settings", "train/loss", "train/gradient_norm", "epoch/val_loss"} <= tags
    assert {"weights/hidden/kernel", "weight_norm/hidden/kernel"} <= tags
    assert any("hidden" in name for name in graph_nodes)


def test_memory_stays_flat_over_200_epochs(tmp_path):
    train_step = toy.train_step(toy.model())
    log = logs.JsonLog(tmp_path / "log.jsonl")
    board = tensorboard.TensorBoardLog(tmp_path / "board", train_step, {})
    batches = toy.batches()
    state, resident_bytes = None, []
    for num_epochs in (20, 220):
        training_loop = loop.Loop(
            train_step,
            toy.rate(),
            loop.LoopPlan(num_epochs=num_epochs, steps_per_epoch=5, steps_per_execution=5),
            evaluate=lambda: _NO_CHANGE,
            hooks=[log, board],
            state=state,
        )
        training_loop.run(batches)
        state = training_loop.state
        resident_bytes.append(psutil.Process().memory_info().rss)
    log.close()
    board.close(has_finished=True)
    assert resident_bytes[1] <= 1.05 * resident_bytes[0]
