import json
import multiprocessing
import os
import pathlib
import signal
import time

import numpy as np
import pytest

from components.trainer import checkpoints

_CONFIG = {"training": {"num_epochs": 2}, "seed": 7}


def _checkpoint(global_step, *, score=None, value=0.0, size=4):
    return checkpoints.Checkpoint(
        global_step=global_step,
        arrays={"weight": np.full(size, value, "float32"), "count": np.array(global_step)},
        loop={"records": [1, 2]},
        config=_CONFIG,
        score=score,
    )


def _saved(directory, *many, keep_best=3):
    store = checkpoints.CheckpointStore(directory, keep_best=keep_best)
    for checkpoint in many:
        store.save(checkpoint)
    store.wait()
    return store


def _steps(directory):
    return [int(path.name.removeprefix("step-")) for path in sorted(directory.glob("step-*"))]


def test_everything_comes_back(tmp_path):
    store = _saved(tmp_path, _checkpoint(5, score=0.25, value=1.5))
    checkpoint, notes = store.latest(_CONFIG)
    assert notes == []
    assert (checkpoint.global_step, checkpoint.score) == (5, 0.25)
    assert checkpoint.loop == {"records": [1, 2]}
    np.testing.assert_array_equal(checkpoint.arrays["weight"], np.full(4, 1.5, "float32"))
    assert checkpoint.arrays["weight"].dtype == np.float32


def test_empty_folder_has_none(tmp_path):
    assert checkpoints.CheckpointStore(tmp_path / "new").latest(_CONFIG) == (None, [])


def test_best_three_and_the_latest_are_kept(tmp_path):
    scores = [0.5, 0.9, 0.7, 0.8, 0.6, None]
    store = _saved(tmp_path, *[_checkpoint(i + 1, score=s) for i, s in enumerate(scores)])
    assert _steps(tmp_path) == [2, 3, 4, 6]
    assert store.best().global_step == 2


def test_of_equal_scores_the_newest_is_best(tmp_path):
    store = _saved(tmp_path, _checkpoint(1, score=0.5), _checkpoint(2, score=0.5))
    assert store.best().global_step == 2


def test_same_step_is_replaced(tmp_path):
    store = _saved(tmp_path, _checkpoint(3, value=1.0), _checkpoint(3, value=2.0, score=1.0))
    assert store.latest(_CONFIG)[0].arrays["weight"][0] == 2.0
    assert _steps(tmp_path) == [3]


@pytest.mark.parametrize("name", ["arrays.npz", "state.json"])
@pytest.mark.parametrize("damage", ["truncate", "flip", "remove"])
def test_damaged_checkpoint_is_named_and_the_one_before_it_taken(tmp_path, name, damage):
    store = _saved(tmp_path, _checkpoint(1), _checkpoint(2, score=0.1), _checkpoint(3))
    path = tmp_path / "step-000000003" / name
    data = bytearray(path.read_bytes())
    if damage == "truncate":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    else:
        path.unlink()
    checkpoint, notes = store.latest(_CONFIG)
    assert checkpoint.global_step == 2
    assert len(notes) == 1
    assert f"{path.parent} is damaged: {name}" in notes[0]


def test_changed_recipe_is_refused_with_the_keys_that_differ(tmp_path):
    store = _saved(tmp_path, _checkpoint(1))
    changed = {"training": {"num_epochs": 3}, "seed": 7, "extra": True}
    with pytest.raises(
        checkpoints.ForeignCheckpointError,
        match=r"extra \('unset' then, True now\), training.num_epochs \(2 then, 3 now\)",
    ):
        store.latest(changed)


def test_fault_while_writing_is_raised_by_the_next_call(tmp_path):
    (tmp_path / "file").write_text("in the way")
    store = checkpoints.CheckpointStore(tmp_path / "file" / "checkpoints")
    store.save(_checkpoint(1))
    with pytest.raises(OSError, match="file"):
        store.wait()


def _write_for_ever(directory):
    store = checkpoints.CheckpointStore(pathlib.Path(directory))
    for step in range(1, 100_000):
        store.save(_checkpoint(step, value=step, size=200_000, score=-step))


def test_kills_in_the_middle_of_writing_leave_a_whole_checkpoint(tmp_path):
    context = multiprocessing.get_context("spawn")
    for attempt in range(6):
        directory = tmp_path / str(attempt)
        writer = context.Process(target=_write_for_ever, args=(str(directory),))
        writer.start()
        deadline = time.monotonic() + 60
        while not _steps(directory) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.013 * attempt)
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        store = checkpoints.CheckpointStore(directory)
        checkpoint, notes = store.latest(_CONFIG)
        assert notes == []
        assert (checkpoint.arrays["weight"] == checkpoint.global_step).all()


def test_what_a_kill_left_unfinished_is_cleared_by_the_next_write(tmp_path):
    (tmp_path / ".partial-step-000000002").mkdir()
    _saved(tmp_path, _checkpoint(2))
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000002"]


def test_state_is_readable_by_people(tmp_path):
    _saved(tmp_path, _checkpoint(4, score=0.5))
    state = json.loads((tmp_path / "step-000000004" / "state.json").read_text())["state"]
    assert state["config"] == _CONFIG
