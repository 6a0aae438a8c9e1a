"""What the doctor finds wrong, and that a broken TensorFlow does not stop it."""

import json
import sys

import pytest

from pipeline.cli import main
from pipeline.environment import doctor, fingerprint, glibc


def probe(program):
    return (sys.executable, "-c", program)


def healthy_probe(devices=("CPU",), backend="tensorflow"):
    return probe(f"print('''{json.dumps({'devices': devices, 'keras_backend': backend})}''')")


def whats(problems):
    return [problem.what for problem in problems]


def test_a_healthy_probe_lists_the_devices():
    found = doctor.probe_devices(healthy_probe(("CPU", "GPU: H")), timeout_secs=60)
    assert found == (["CPU", "GPU: H"], [])


def test_a_crash_of_the_probe_is_a_finding():
    program = "import os, signal; os.kill(os.getpid(), signal.SIGABRT)"
    _, problems = doctor.probe_devices(probe(program), timeout_secs=60)
    assert whats(problems) == [
        "TensorFlow, Keras or ML Metadata fails to import (exit -6): it printed nothing"
    ]


def test_an_import_error_is_quoted():
    _, problems = doctor.probe_devices(probe("import no_such_module"), timeout_secs=60)
    assert "No module named 'no_such_module'" in problems[0].what


def test_a_probe_that_hangs_is_a_finding():
    _, problems = doctor.probe_devices(
        probe("input_ = __import__('time').sleep(60)"), timeout_secs=1
    )
    assert whats(problems) == ["TensorFlow took over 1 s to import."]


def test_another_backend_is_a_finding():
    _, problems = doctor.probe_devices(healthy_probe(backend="jax"), timeout_secs=60)
    assert whats(problems) == ["Keras runs on jax, TFX needs TensorFlow."]
    assert "KERAS_BACKEND" in problems[0].cure


def test_little_memory_and_disk_are_findings(tmp_path):
    found = whats(doctor.resource_problems(memory_gib=1.5, disk_gib=0.4, folder=tmp_path))
    assert found == [
        "A run needs 4 GiB of memory, here are 1.5.",
        "A run needs 2 GiB of disk, 0.4 are free.",
    ]


def test_enough_of_everything_is_no_finding(tmp_path):
    assert doctor.resource_problems(memory_gib=16, disk_gib=50, folder=tmp_path) == []


def test_an_old_c_library_is_a_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(glibc, "version", lambda: (2, 36))
    found = doctor.environment_problems(tmp_path)
    assert whats(found) == ["The C library must be glibc 2.39 or newer, this is (2, 36)."]


def test_packages_that_differ_from_the_lock_are_named(tmp_path, monkeypatch):
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/runtime.txt").touch()
    pins = ["click==0.1", "no-such-package==1.0", "other==1 ; python_full_version < '3'"]
    monkeypatch.setattr(fingerprint, "packages", lambda: pins)
    (problem,) = doctor.environment_problems(tmp_path)
    assert problem.what.startswith("2 packages differ from the lock: click ")
    assert "no-such-package missing (locked==1.0)" in problem.what


def test_this_environment_is_as_locked():
    assert doctor.environment_problems(doctor.ROOT) == []


@pytest.mark.parametrize(
    ("program", "status"), [("healthy", 0), ("raise SystemExit('broken')", 1)], ids=["ok", "broken"]
)
def test_the_command_exits_with_1_if_something_is_wrong(
    program, status, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(doctor, "ROOT", tmp_path)
    command = healthy_probe() if program == "healthy" else probe(program)
    monkeypatch.setattr(doctor, "PROBE", command)
    assert main.main(["doctor", "--json"]) == status
    report = json.loads(capsys.readouterr().out)
    assert bool(report["problems"]) == bool(status)
    assert report["versions"]["keras"] == "3.15.1"


def test_the_command_prints_each_problem_with_its_cure(monkeypatch, capsys):
    command = probe("raise SystemExit('libfoo is missing')")
    monkeypatch.setattr(doctor, "PROBE", command)
    main.main(["doctor"])
    output = capsys.readouterr().out
    assert "libfoo is missing" in output
    assert "Remove the folder .venv and start ./kerasline again." in output
