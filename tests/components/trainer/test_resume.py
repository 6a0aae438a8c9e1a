"""A run that is stopped and started again ends as the run that was not: bit for bit."""

import multiprocessing
import os
import pathlib
import random
import signal
import time
from multiprocessing import forkserver

import numpy as np
import pytest

from components.ingest import ingest
from components.ingest.config import DataConfig
from components.trainer import checkpoints, session, train
from pipeline import recipe_files
from tests.components.trainer import resume_program

_MAX_KILLS = 20
_TIMEOUT_SECS = 240


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    data = recipe_files.load("digits").to_dict()["data"]
    cache_dir = tmp_path_factory.mktemp("cache")
    dataset = ingest.ingest(DataConfig.from_dict(data), seed=7, cache_dir=cache_dir)
    return {"data": data, "dataset": str(dataset.path)}


@pytest.fixture(scope="module")
def context():
    """Forks each attempt from one process that has imported TensorFlow and not yet used it."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["tests.components.trainer.resume_program"])
    with pytest.MonkeyPatch.context() as patch:
        # `python -P` would leave this folder out, and others may have a package `tests`.
        patch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parents[3]))
        forkserver.ensure_running()
    return made


def _start(context, directory, settings, num_replicas=1):
    process = context.Process(
        target=resume_program.attempt, args=(str(directory), num_replicas, settings)
    )
    process.start()
    return process


def _finish(context, directory, settings, num_replicas=1):
    process = _start(context, directory, settings, num_replicas)
    process.join(_TIMEOUT_SECS)
    assert process.exitcode == 0
    with np.load(directory / resume_program.RESULT_FILE) as arrays:
        return [arrays[name] for name in arrays.files]


@pytest.fixture(scope="module")
def uninterrupted(context, settings, tmp_path_factory):
    directory = tmp_path_factory.mktemp("uninterrupted")
    return directory, _finish(context, directory, settings)


def _wait_for_progress(process, directory):
    """Returns when the process has written a checkpoint that was not there, or has ended."""
    before = _newest(directory)
    deadline = time.monotonic() + _TIMEOUT_SECS
    while process.is_alive() and _newest(directory) == before and time.monotonic() < deadline:
        time.sleep(0.002)


def _newest(directory):
    folders = (directory / session.CHECKPOINTS_DIR).glob("step-*")
    return max((path.name for path in folders), default="")


def _assert_same(directory, weights, uninterrupted):
    expected_directory, expected = uninterrupted
    for one, two in zip(weights, expected, strict=True):
        np.testing.assert_array_equal(one, two)
    lines = resume_program.log_lines(directory)
    assert lines == resume_program.log_lines(expected_directory)
    stores = [
        checkpoints.read(folder / session.CHECKPOINTS_DIR / _newest(folder))
        for folder in (directory, expected_directory)
    ]
    for name, array in stores[0].arrays.items():
        np.testing.assert_array_equal(array, stores[1].arrays[name], err_msg=name)


def test_twenty_kills_at_random_moments_change_no_bit(context, settings, uninterrupted, tmp_path):
    moments = random.Random(3)
    num_kills = 0
    while num_kills < _MAX_KILLS:
        process = _start(context, tmp_path, settings)
        _wait_for_progress(process, tmp_path)
        time.sleep(moments.uniform(0.0, 0.1))
        if not process.is_alive():
            break
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        num_kills += 1
    assert num_kills >= 5
    _assert_same(tmp_path, _finish(context, tmp_path, settings), uninterrupted)


def test_sigterm_saves_and_exits_143(context, settings, uninterrupted, tmp_path):
    process = _start(context, tmp_path, settings)
    _wait_for_progress(process, tmp_path)
    os.kill(process.pid, signal.SIGTERM)
    process.join(10)
    assert process.exitcode == 143
    last_logged = [e["step"] for e in resume_program.log_lines(tmp_path) if e["event"] == "steps"][
        -1
    ]
    assert _newest(tmp_path) == f"step-{last_logged:09d}"
    _assert_same(tmp_path, _finish(context, tmp_path, settings), uninterrupted)


def test_run_goes_on_with_another_number_of_replicas(context, settings, tmp_path):
    plain = {
        **settings,
        "model": {"architecture": "mlp", "hidden_units": [16], "dropout_rate": 0.0},
        "num_epochs": 2,
        "early_stopping": None,
    }
    alone, mixed = tmp_path / "alone", tmp_path / "mixed"
    expected = _finish(context, alone, plain)
    process = _start(context, mixed, plain, num_replicas=2)
    _wait_for_progress(process, mixed)
    os.kill(process.pid, signal.SIGTERM)
    process.join(_TIMEOUT_SECS)
    assert process.exitcode == 143
    for one, two in zip(_finish(context, mixed, plain), expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6)


def test_changed_recipe_is_refused_with_the_key(settings, uninterrupted):
    directory, _ = uninterrupted
    request = resume_program.request(directory, **settings, label_smoothing=0.1)
    with pytest.raises(
        checkpoints.ForeignCheckpointError,
        match=r"training.label_smoothing \(0.0 then, 0.1 now\)",
    ):
        train.train(request)


def test_damaged_checkpoint_costs_steps_and_no_bit(context, settings, uninterrupted, tmp_path):
    process = _start(context, tmp_path, settings)
    for _ in range(6):
        _wait_for_progress(process, tmp_path)
    os.kill(process.pid, signal.SIGTERM)
    process.join(_TIMEOUT_SECS)
    newest = pathlib.Path(tmp_path, session.CHECKPOINTS_DIR, _newest(tmp_path), "arrays.npz")
    newest.write_bytes(newest.read_bytes()[:-100])
    _assert_same(tmp_path, _finish(context, tmp_path, settings), uninterrupted)


def test_scales_of_float8_go_on_where_they_stopped(context, settings, tmp_path):
    rounded = {**settings, "precision": "float8", "num_epochs": 3, "early_stopping": None}
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    expected = _finish(context, whole, rounded)
    process = _start(context, stopped, rounded)
    _wait_for_progress(process, stopped)
    os.kill(process.pid, signal.SIGTERM)
    process.join(_TIMEOUT_SECS)
    assert process.exitcode == 143
    _assert_same(stopped, _finish(context, stopped, rounded), (whole, expected))
