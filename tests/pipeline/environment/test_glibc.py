"""What works on the C library that `.venv` runs on, which may be a private one."""

import ctypes
import locale
import os
import pwd
import socket
import ssl
import subprocess
import sys

import pytest

from pipeline.environment import glibc

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no glibc")


def test_version_is_what_the_library_itself_says():
    libc = ctypes.CDLL(None)
    libc.gnu_get_libc_version.restype = ctypes.c_char_p
    major, minor = libc.gnu_get_libc_version().decode().split(".")[:2]
    assert glibc.version() == (int(major), int(minor))


def test_it_is_new_enough_for_the_wheels():
    assert not glibc.is_needed()


@pytest.mark.parametrize("answer", ["glibc 2.36", "glibc 2.38.1"])
def test_an_older_library_needs_a_newer_one(monkeypatch, answer):
    monkeypatch.setattr(os, "confstr", lambda name: answer)
    assert glibc.is_needed()


def test_a_child_interpreter_has_the_same_library():
    program = "import os; print(os.confstr('CS_GNU_LIBC_VERSION'))"
    output = subprocess.check_output([sys.executable, "-c", program], text=True, timeout=60)
    assert output.strip() == os.confstr("CS_GNU_LIBC_VERSION")


def test_system_programs_run_from_it():
    assert subprocess.run(["sh", "-c", "exit 3"], check=False, timeout=60).returncode == 3


def test_host_names_resolve():
    addresses = {entry[4][0] for entry in socket.getaddrinfo("localhost", 80)}
    assert addresses & {"127.0.0.1", "::1"}


def test_user_names_resolve():
    assert pwd.getpwuid(0).pw_name == "root"


def test_certificates_load():
    assert ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED


def test_the_utf8_locale_is_there():
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, "C.UTF-8")
        assert locale.nl_langinfo(locale.CODESET) == "UTF-8"
    finally:
        locale.setlocale(locale.LC_ALL, before)


def test_character_sets_convert():
    libc = ctypes.CDLL(None)
    libc.iconv_open.restype = ctypes.c_void_p
    assert libc.iconv_open(b"UTF-8", b"ISO-8859-15") != ctypes.c_void_p(-1).value
