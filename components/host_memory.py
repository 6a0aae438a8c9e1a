"""How much memory this machine, or the container on it, can still give."""

import pathlib


def available_bytes() -> int:
    """Returns what is free without swapping.

    In a container its own limit counts, which is often lower than the machine's memory.
    """
    free = _meminfo_bytes("MemAvailable")
    limit = pathlib.Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.exists() else "max"
    return free if text == "max" else min(free, int(text))


def _meminfo_bytes(key: str) -> int:
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    raise ValueError(f"/proc/meminfo has no line {key}.")
