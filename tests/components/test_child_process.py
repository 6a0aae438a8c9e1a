"""Checks that a child process dies with its parent, and ends in order when asked to."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from components import child_process

_DEADLINE_SECS = 60.0
_SLEEP = "import time; print('ready', flush=True); [time.sleep(0.1) for _ in range(1200)]"


def _has_ended(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="the tie to the parent is Linux's")
def test_a_child_dies_with_its_killed_parent():
    program = (
        "import sys; from components import child_process;"
        f"child = child_process.start([sys.executable, '-c', {_SLEEP!r}]);"
        "print(child.pid, flush=True); child.wait()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + _DEADLINE_SECS
    while not _has_ended(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _has_ended(pid)


def test_termination_can_be_an_interrupt():
    program = (
        "from components import child_process\n"
        "child_process.interrupt_on_termination()\n"
        "try:\n"
        f"    {_SLEEP}\n"
        "except KeyboardInterrupt:\n"
        "    print('cleaned up')\n"
    )
    child = child_process.start([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=_DEADLINE_SECS)
    assert (out, child.returncode) == (b"cleaned up\n", 0)


def test_a_child_is_the_command_itself_with_its_arguments_and_environment():
    program = "import os, sys; print(os.getpid(), sys.argv[1:], os.environ['WORD'])"
    child = child_process.start(
        [sys.executable, "-c", program, "a b", ""],
        stdout=subprocess.PIPE,
        env={**os.environ, "WORD": "x y"},
    )
    out, _ = child.communicate(timeout=_DEADLINE_SECS)
    assert out.decode().strip() == f"{child.pid} ['a b', ''] x y"


def test_starting_a_child_runs_no_handlers_of_a_fork():
    """Handlers of libraries, such as gRPC's, run in a copy of a process whose threads are gone."""
    program = (
        "import os, sys; from components import child_process;"
        "os.register_at_fork(after_in_child=lambda: os.write(2, b'forked'));"
        "child_process.start([sys.executable, '-c', '']).wait()"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, timeout=_DEADLINE_SECS
    )
    assert found.stderr == b""
