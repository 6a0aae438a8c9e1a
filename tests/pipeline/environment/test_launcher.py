"""The launcher, on a small checkout of its own: the real set-up, with two packages in the lock."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOCKED = ("click", "setuptools")
PROGRAM = '''
"""Prints what the launcher passed on."""

import json
import os
import sys

import click


def main():
    found = {"arguments": sys.argv[1:], "cwd": os.getcwd(), "click": click.__file__}
    print(json.dumps({**found, "c_library": os.confstr("CS_GNU_LIBC_VERSION")}))
    return 7 if "--fail" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
'''
METADATA = """
import setuptools

setuptools.setup(
    name="kerasline",
    packages=["pipeline", "pipeline.cli"],
    package_dir={"": "."},
    entry_points={"console_scripts": ["kerasline = pipeline.cli.main:main"]},
)
"""


def locked(name):
    """The lock's entry for one package, hashes included."""
    text = (ROOT / "requirements/runtime.txt").read_text()
    return re.search(rf"^{name}==(.*\n)((?: .*\n)*)", text, re.MULTILINE)[0]


def make_checkout(folder):
    (folder / "pipeline/cli").mkdir(parents=True)
    shutil.copytree(ROOT / "pipeline/environment", folder / "pipeline/environment")
    for package in ("pipeline", "pipeline/cli"):
        (folder / package / "__init__.py").touch()
    (folder / "pipeline/cli/main.py").write_text(PROGRAM)
    (folder / "setup.py").write_text(METADATA)
    shutil.copy2(ROOT / "kerasline", folder)
    (folder / "requirements").mkdir()
    shutil.copy2(ROOT / "requirements/setup.txt", folder / "requirements")
    (folder / "requirements/runtime.txt").write_text("".join(map(locked, LOCKED)))
    (folder / "requirements/dev.txt").write_text("")
    return folder


def start(command, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen(list(map(str, command)), text=True, **{**pipes, **options})


def run(command, **options):
    """Runs a launcher to its end; returns (exit status, its program's report, standard error)."""
    process = start(command, **options)
    output, errors = process.communicate(timeout=120)
    report = json.loads(output) if output else None
    return process.returncode, report, errors


def set_up_count(errors):
    return errors.count("set-up done in")


@pytest.fixture(scope="module")
def first_starts(tmp_path_factory):
    """A checkout in a path with spaces, and two starts of it at the same time."""
    checkout = make_checkout(tmp_path_factory.mktemp("a path with spaces") / "check out")
    processes = [start([checkout / "kerasline"]) for _ in range(2)]
    outcomes = [(process.communicate(timeout=240), process.returncode) for process in processes]
    return checkout, outcomes


@pytest.fixture
def checkout(first_starts):
    return first_starts[0]


def test_of_two_starts_at_once_one_sets_up_and_both_run(first_starts):
    _, outcomes = first_starts
    errors = "".join(streams[1] for streams, _ in outcomes)
    assert [status for _, status in outcomes] == [0, 0], errors
    assert set_up_count(errors) == 1


def test_a_later_start_sets_up_nothing_and_prints_nothing(checkout):
    status, _, errors = run([checkout / "kerasline"])
    assert (status, errors) == (0, "")


def test_the_program_runs_on_the_locked_packages(checkout):
    _, report, _ = run([checkout / "kerasline"])
    assert Path(report["click"]).is_relative_to(checkout / ".venv")


def test_the_set_up_writes_the_bytecode_of_modules_that_nothing_has_imported_yet(checkout):
    assert list(checkout.glob(".venv/lib/*/site-packages/click/__pycache__/testing.*.pyc"))


def test_the_program_runs_on_a_c_library_that_the_wheels_accept(checkout):
    _, report, _ = run([checkout / "kerasline"])
    major, minor = report["c_library"].removeprefix("glibc ").split(".")
    assert (int(major), int(minor)) >= (2, 39)


def test_arguments_status_and_working_directory_pass_through(checkout, tmp_path):
    status, report, _ = run([checkout / "kerasline", "--fail", "a b", ""], cwd=tmp_path)
    assert (status, report["arguments"], report["cwd"]) == (7, ["--fail", "a b", ""], str(tmp_path))


def test_it_starts_through_links_to_links(checkout, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/inner").symlink_to(checkout / "kerasline")
    (tmp_path / "outer").symlink_to("bin/inner")
    status, _, errors = run(["./outer"], cwd=tmp_path)
    assert (status, errors) == (0, "")


def test_a_module_in_the_working_directory_is_not_taken_for_ours(checkout, tmp_path):
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline/__init__.py").write_text("raise SystemExit('the wrong one')")
    status, _, errors = run([checkout / "kerasline"], cwd=tmp_path)
    assert (status, errors) == (0, "")


def test_the_console_script_works_where_the_path_has_spaces(checkout):
    status, report, errors = run([checkout / ".venv/bin/kerasline", "x"])
    assert (status, report["arguments"]) == (0, ["x"]), errors


def test_a_missing_interpreter_is_replaced(checkout):
    base = checkout / ".venv/base-python"
    base.unlink()
    base.symlink_to("/nowhere/python3")
    status, _, errors = run([checkout / "kerasline"])
    assert (status, set_up_count(errors)) == (0, 1), errors


def test_a_changed_lock_is_installed(checkout):
    with (checkout / "requirements/dev.txt").open("a") as lock:
        lock.write(locked("typing-extensions"))
    status, _, errors = run([checkout / "kerasline"])
    assert (status, set_up_count(errors)) == (0, 1), errors
    assert list((checkout / ".venv").glob("lib/python*/site-packages/typing_extensions.py"))


def test_a_hash_that_differs_from_the_lock_stops_the_set_up(checkout):
    lock = checkout / "requirements/runtime.txt"
    right = lock.read_text()
    lock.write_text(re.sub(r"sha256:[0-9a-f]{64}", "sha256:" + "0" * 64, right))
    status, _, errors = run([checkout / "kerasline"])
    lock.write_text(right)
    assert status == 1
    assert "hash mismatch" in errors.lower()
    assert "set-up stopped: installing the locked packages with uv failed" in errors
    assert not (checkout / ".venv/ready").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
def test_an_interrupted_set_up_leaves_nothing_that_looks_ready(checkout, number):
    shutil.rmtree(checkout / ".venv", ignore_errors=True)
    process = start([checkout / "kerasline"], start_new_session=True)
    deadline = time.monotonic() + 60
    while not (checkout / ".venv/pyvenv.cfg").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, number)
    process.communicate(timeout=60)
    # Ended by the signal itself, which a shell shows as 128 + its number: 130 for Ctrl-C.
    assert process.returncode == -number
    assert not (checkout / ".venv/ready").exists()


def test_an_unfinished_set_up_is_repaired_by_the_next_start(checkout):
    shutil.rmtree(checkout / ".venv/bin", ignore_errors=True)
    (checkout / ".venv/ready").unlink(missing_ok=True)
    status, _, errors = run([checkout / "kerasline"])
    assert (status, set_up_count(errors)) == (0, 1), errors


def test_a_moved_folder_is_set_up_anew(checkout):
    moved = checkout.rename(checkout.with_name("moved"))
    status, report, errors = run([moved / "kerasline"])
    (moved / "kerasline").parent.rename(checkout)
    assert (status, set_up_count(errors)) == (0, 1), errors
    assert Path(report["click"]).is_relative_to(moved)
    assert list(checkout.glob(".venv.old-*")) == []


def test_a_machine_without_python_is_told_what_to_install(tmp_path):
    checkout = make_checkout(tmp_path / "repo")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "cat", "cmp", "dirname", "readlink"):
        (tools / name).symlink_to(shutil.which(name))
    status, _, errors = run([checkout / "kerasline"], env={"PATH": str(tools)})
    assert status == 1
    assert "expected Python 3.11, 3.12 or 3.13, found none that runs among: python3 " in errors
    assert "docker build" in errors


def test_a_machine_without_a_registry_is_told_what_is_needed(tmp_path):
    checkout = make_checkout(tmp_path / "repo")
    environment = {**os.environ, "PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_RETRIES": "0"}
    status, _, errors = run([checkout / "kerasline"], env=environment)
    assert status == 1
    assert "set-up stopped: getting uv with pip failed as shown above." in errors
    assert "It needs PyPI, or the mirror that PIP_INDEX_URL names." in errors


def test_an_interpreter_named_by_hand_is_the_only_one_tried(tmp_path):
    checkout = make_checkout(tmp_path / "repo")
    environment = {**os.environ, "KERASLINE_PYTHON": "/no such/python"}
    status, _, errors = run([checkout / "kerasline"], env=environment)
    assert status == 1
    assert "found none that runs among: /no such/python\n" in errors
