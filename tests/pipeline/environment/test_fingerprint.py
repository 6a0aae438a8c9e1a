"""The digests that decide whether a step is up to date."""

import os
import subprocess
import sys

import pytest

from pipeline.environment import fingerprint


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An importable package `sample_code` with one module in a subpackage."""
    folder = tmp_path / "sample_code"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "inner/__init__.py").touch()
    (folder / "inner/work.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("sample_code")]:
        del sys.modules[name]


def test_code_digest_changes_with_a_byte_of_source(package):
    before = fingerprint.code_digest("sample_code")
    (package / "inner/work.py").write_text("VALUE = 2\n")
    assert fingerprint.code_digest("sample_code") != before


def test_code_digest_changes_when_a_file_is_renamed(package):
    before = fingerprint.code_digest("sample_code")
    (package / "inner/work.py").rename(package / "inner/play.py")
    assert fingerprint.code_digest("sample_code") != before


def test_code_digest_takes_no_notice_of_compiled_files(package):
    before = fingerprint.code_digest("sample_code")
    (package / "__pycache__").mkdir()
    (package / "__pycache__/work.pyc").write_bytes(b"\0")
    assert fingerprint.code_digest("sample_code") == before


def test_code_digest_of_a_module_covers_that_module_only(package):
    before = fingerprint.code_digest("sample_code.inner.work")
    (package / "other.py").write_text("")
    assert fingerprint.code_digest("sample_code.inner.work") == before


def test_code_digest_takes_names_in_any_order(package):
    names = ("sample_code", "pipeline.version")
    assert fingerprint.code_digest(*names) == fingerprint.code_digest(*reversed(names))


def test_code_digest_refuses_an_unknown_name():
    with pytest.raises(ModuleNotFoundError, match="Received: 'no_such_package'"):
        fingerprint.code_digest("no_such_package")


def test_packages_are_the_pins_of_the_lock():
    pins = fingerprint.packages()
    assert "keras==3.15.1" in [pin.split(" ;")[0] for pin in pins]
    assert all("==" in pin and "sha256" not in pin for pin in pins)


def test_environment_digest_depends_on_each_part(monkeypatch):
    before = fingerprint.environment_digest()
    monkeypatch.setattr(fingerprint, "c_library", lambda: "glibc 9.99")
    assert fingerprint.environment_digest() != before


def test_environment_is_the_same_in_another_process():
    program = "from pipeline.environment import fingerprint as f; print(f.environment_digest())"
    command = [sys.executable, "-c", program]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert output.stdout.strip() == fingerprint.environment_digest()


def test_c_library_is_the_one_the_interpreter_reports():
    assert fingerprint.c_library() == os.confstr("CS_GNU_LIBC_VERSION")
