"""N replicas equal one device, case by case; see equality_program.py."""

import contextlib
import itertools
import json
import os
import pathlib
import socket
import subprocess
import sys

import numpy as np
import pytest

from tests.components.trainer import equality_program

_ROOT = pathlib.Path(__file__).parents[3]
_TIMEOUT_SECS = 400
_TOLERANCE = 1e-6
# float16 has 11 bits, and 20 steps add their roundings up; with float8 biases have bfloat16's 8.
_FLOAT16_TOLERANCE = 2e-3


def _start(output, num_replicas, *, tf_config=None):
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment.pop("TF_CONFIG", None)
    if tf_config is not None:
        environment["TF_CONFIG"] = json.dumps(tf_config)
    command = [sys.executable, equality_program.__file__, str(num_replicas), str(output)]
    return subprocess.Popen(command, env=environment)


def _finish(processes):
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.callback(process.wait)
            stack.callback(process.kill)
        for process in processes:
            assert process.wait(_TIMEOUT_SECS) == 0


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The arrays that a process with so many replicas wrote, by their number."""
    directory = tmp_path_factory.mktemp("equality")
    outputs = {count: directory / f"{count}.npz" for count in (1, 2, 4)}
    # Most of their time is tracing, on one thread, so that side by side they are done earlier.
    _finish([_start(output, count) for count, output in outputs.items()])
    return {count: np.load(output) for count, output in outputs.items()}


@pytest.fixture(scope="module")
def worker_results(tmp_path_factory):
    """What each of two workers in processes of their own wrote."""
    directory = tmp_path_factory.mktemp("workers")
    workers = [f"127.0.0.1:{port}" for port in _free_ports(2)]
    outputs = [directory / "0.npz", directory / "1.npz"]
    processes = [
        _start(
            output,
            2,
            tf_config={"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}},
        )
        for index, output in enumerate(outputs)
    ]
    _finish(processes)
    return [np.load(output) for output in outputs]


def _assert_equal(one, several, case):
    names = [
        name
        for name in one.files
        if name.startswith(f"{case}/") and not name.endswith("dropout_masks")
    ]
    assert any("/weight" in name for name in names)
    tolerance = _TOLERANCE if "float" not in case else _FLOAT16_TOLERANCE
    for name in names:
        np.testing.assert_allclose(
            several[name], one[name], rtol=tolerance, atol=tolerance, err_msg=name
        )


@pytest.mark.parametrize(
    ("num_replicas", "case"), itertools.product((2, 4), equality_program.CASES)
)
def test_replicas_train_and_measure_as_one_device_does(results, num_replicas, case):
    _assert_equal(results[1], results[num_replicas], case)


@pytest.mark.parametrize("worker", [0, 1])
@pytest.mark.parametrize("case", equality_program.CASES)
def test_two_processes_train_and_measure_as_one_device_does(results, worker_results, case, worker):
    _assert_equal(results[1], worker_results[worker], case)


@pytest.mark.parametrize("num_replicas", [1, 2, 4])
def test_overflow_on_one_replica_skips_the_step_everywhere_once(results, num_replicas):
    arrays = results[num_replicas]
    assert arrays["float16_overflow/num_updates"] == equality_program.NUM_STEPS - 1
    assert arrays["float16_overflow/loss_scale"] == 2.0**14
    weights = [arrays[n] for n in arrays.files if n.startswith("float16_overflow/weight")]
    assert all(np.isfinite(weight).all() for weight in weights)


def test_each_replica_drops_other_units_and_the_first_the_same_as_one_device(results):
    masks = {count: results[count]["ema/dropout_masks"] for count in (1, 2, 4)}
    assert len(np.unique(masks[4], axis=0)) == 4
    np.testing.assert_array_equal(masks[2], masks[4][:2])
    np.testing.assert_array_equal(masks[1], masks[4][:1])


def test_workers_drop_other_units(worker_results):
    masks = [arrays["ema/dropout_masks"] for arrays in worker_results]
    assert not np.array_equal(*masks)
