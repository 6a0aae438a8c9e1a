"""Names the machine that a benchmark ran on, for the tables in docs/benchmarks.md."""

import os
import pathlib
import platform


def describe() -> str:
    """Returns the processor, its core count, the memory in GiB, the system and Python's version."""
    cpu_info = pathlib.Path("/proc/cpuinfo")
    processor = platform.processor() or platform.machine()
    if cpu_info.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in cpu_info.read_text().splitlines()
            if line.startswith("model name")
        ]
        processor = names[0] if names else processor
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{processor}, {os.cpu_count()} cores, {memory_gib:.0f} GiB, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    )
