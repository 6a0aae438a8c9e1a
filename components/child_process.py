"""Child processes that cannot outlive their parent and end in order when they are asked to."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

# From linux/prctl.h: the signal that a process gets when its parent dies.
PR_SET_PDEATHSIG = 1


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Starts `command` so that the kernel kills it when this process dies, even by `kill -9`.

    The tie is to the calling thread: call it from a thread that lives as long as the child should.
    On systems other than Linux the child is started without the tie.

    Args:
        command: The program and its arguments.
        **options: Further options of `subprocess.Popen`, but not `preexec_fn`.
    """
    return subprocess.Popen(command, preexec_fn=_tie_to_parent(), **options)


def interrupt_on_termination() -> None:
    """Makes SIGTERM end this process as Ctrl-C would, so that it leaves no temporary files.

    Training listens to SIGTERM itself, to save what was trained; this is for all the rest.
    """
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _tie_to_parent() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    # Loaded here, because the child may not load libraries between fork and exec.
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def tie() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            # The parent died before the tie was made.
            os.kill(os.getpid(), signal.SIGKILL)

    return tie
