"""What the set-up refuses, in one sentence each, and how it tells a finished environment."""

import errno
import io
import os
import platform
import re
import shutil
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


def test_a_refusal_names_the_container_and_exits_with_1(tmp_path):
    shutil.copytree(ROOT / "pipeline/environment", tmp_path / "a:b/pipeline/environment")
    (tmp_path / "a:b/pipeline/__init__.py").touch()
    done = subprocess.run(
        [os.path.realpath(ROOT / ".venv/base-python"), "-m", "pipeline.environment.bootstrap"],
        cwd=tmp_path / "a:b",
        input=b"stamp",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert b"cannot set up: a virtual environment's path may not hold" in done.stderr
    assert b"docker build -t kerasline" in done.stderr


def test_a_disk_that_fills_up_ends_in_a_sentence(finished, monkeypatch, capsys):
    def fill_up(self, folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))

    monkeypatch.chdir(finished)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"another stamp")))
    monkeypatch.setattr(venv.EnvBuilder, "create", fill_up)
    assert bootstrap.main() == 1
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
