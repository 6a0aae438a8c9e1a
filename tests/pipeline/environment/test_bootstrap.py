"""What the set-up refuses, in one sentence each, and how it tells a finished environment."""

import errno
import fcntl
import io
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from pipeline.environment import bootstrap
from pipeline.environment.apt import SetupError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def finished(tmp_path):
    """A repository with locks and an environment that was completed for them."""
    (tmp_path / "requirements").mkdir()
    for name in bootstrap.LOCKS:
        (tmp_path / "requirements" / name).write_text(f"{name}\n")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").touch()
    (tmp_path / ".venv/base-python").touch()
    (tmp_path / ".venv/ready").write_bytes(bootstrap.expected_stamp(tmp_path))
    return tmp_path


def test_a_finished_environment_is_ready(finished):
    assert bootstrap.is_ready(finished, bootstrap.expected_stamp(finished))


@pytest.mark.parametrize("name", bootstrap.LOCKS)
def test_a_changed_lock_is_not_ready(finished, name):
    (finished / "requirements" / name).write_text("other\n")
    assert not bootstrap.is_ready(finished, bootstrap.expected_stamp(finished))


@pytest.mark.parametrize("name", ["ready", "bin/python", "base-python"])
def test_an_incomplete_environment_is_not_ready(finished, name):
    (finished / ".venv" / name).unlink()
    assert not bootstrap.is_ready(finished, bootstrap.expected_stamp(finished))


def test_the_stamp_names_the_folder(finished):
    assert bootstrap.expected_stamp(finished).startswith(os.fsencode(finished) + b"\n")


def test_another_processor_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(SetupError, match="x86_64 and macOS on arm64 only, this is .* on aarch64"):
        bootstrap.check_machine(tmp_path)


def test_another_c_library_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(os, "confstr", lambda name: None)
    with pytest.raises(SetupError, match="need glibc, this Python uses another C library"):
        bootstrap.check_machine(tmp_path)


def test_a_path_with_the_separator_is_refused(tmp_path):
    folder = tmp_path / f"a{os.pathsep}b"
    folder.mkdir()
    with pytest.raises(SetupError, match=re.escape(f"may not hold `{os.pathsep}`, this one is")):
        bootstrap.check_machine(folder)


def test_a_full_disk_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=2**30)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(SetupError, match=r"needs 6 GiB of disk, .* has 1\.0 GiB free"):
        bootstrap.check_machine(tmp_path)
    assert list(tmp_path.iterdir()) == []


def call_main(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"another stamp")))
    return bootstrap.main()


def test_a_machine_that_cannot_is_sent_to_the_container(finished, monkeypatch, capsys):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert call_main(finished, monkeypatch) == 1
    errors = capsys.readouterr().err
    assert "kerasline: cannot set up: ml-metadata has packages for" in errors
    assert f'docker build -t kerasline "{finished}"' in errors


def test_a_folder_that_will_not_do_is_to_be_moved(tmp_path, monkeypatch, capsys):
    folder = tmp_path / f"a{os.pathsep}b"
    folder.mkdir()
    assert call_main(folder, monkeypatch) == 1
    assert "Move or rename the folder" in capsys.readouterr().err


def test_a_tool_that_outlives_its_set_up_keeps_the_next_one_waiting(tmp_path):
    program = """
import os, pathlib, sys
from pipeline.environment import bootstrap
with bootstrap._only_one_at_a_time(pathlib.Path(sys.argv[1])):
    bootstrap._run("work", ["sh", "-c", "echo $$; exec sleep 60"], dict(os.environ))
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as set_up:
        tool = int(set_up.stdout.readline())
        set_up.kill()
        set_up.wait(timeout=60)
        descriptor = os.open(tmp_path, os.O_RDONLY)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.kill(tool, signal.SIGKILL)
        # Freed when the killed tool has gone; the test timeout bounds the wait.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.close(descriptor)


def test_a_disk_that_fills_up_ends_in_a_sentence(finished, monkeypatch, capsys):
    def fill_up(self, folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))

    monkeypatch.setattr(venv.EnvBuilder, "create", fill_up)
    assert call_main(finished, monkeypatch) == 1
    assert "set-up stopped: [Errno 28] No space left on device" in capsys.readouterr().err
    assert not (finished / ".venv").exists()


@pytest.mark.parametrize("name", bootstrap.LOCKS)
def test_a_lock_names_no_address(name):
    assert "://" not in (ROOT / "requirements" / name).read_text()


def test_the_locks_agree_on_versions():
    pins = {}
    for name in bootstrap.LOCKS:
        text = (ROOT / "requirements" / name).read_text()
        for package, version in re.findall(r"^([\w.-]+)==([^ ;]+)", text, re.MULTILINE):
            pins.setdefault((package, name), set()).add(version)
    both = {package for package, name in pins if name == "dev.txt"}
    differing = [
        package
        for package in both
        if pins.get((package, "runtime.txt"), pins[package, "dev.txt"]) != pins[package, "dev.txt"]
    ]
    assert differing == []
