"""How much memory this machine, or the container on it, can still give."""

import pathlib

import psutil


def available_bytes() -> int:
    """Returns what is free without swapping.

    In a container its own limit counts, which is often lower than the machine's memory.
    """
    free = psutil.virtual_memory().available
    limit = pathlib.Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.exists() else "max"
    return free if text == "max" else min(free, int(text))
