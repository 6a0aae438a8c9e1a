"""Child processes that cannot outlive their parent and end in order when they are asked to."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

# Ties itself to the parent whose id is its first argument, then becomes the command that follows.
# 1 is PR_SET_PDEATHSIG of linux/prctl.h: the signal that a process gets when its parent dies. The
# tie outlives exec. A parent that died before it was made is found by its id.
_TIE = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
os.execvp(sys.argv[2], sys.argv[2:])
"""


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Starts `command` so that the kernel kills it when this process dies, even by `kill -9`.

    The tie is to the calling thread: call it from a thread that lives as long as the child should.
    On systems other than Linux the child is started without the tie.

    The child ties itself, and not a function between fork and exec: a fork copies the locks of a
    process with threads, and wakes gRPC's, which then finds its files closed and aborts.

    Args:
        command: The program and its arguments.
        **options: Further options of `subprocess.Popen`, but not `preexec_fn`.
    """
    if sys.platform == "linux":
        command = [sys.executable, "-I", "-S", "-c", _TIE, str(os.getpid()), *command]
    return subprocess.Popen(command, **options)


def interrupt_on_termination() -> None:
    """Makes SIGTERM end this process as Ctrl-C would, so that it leaves no temporary files.

    Training listens to SIGTERM itself, to save what was trained; this is for all the rest.
    """
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
