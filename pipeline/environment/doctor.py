"""Looks at the machine and the environment and says what is wrong with them, and the cure."""

import dataclasses
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from packaging.requirements import Requirement

from pipeline import version
from pipeline.environment import bootstrap, fingerprint, glibc

ROOT = Path(__file__).parents[2]
SHOWN_PACKAGES = (
    "keras",
    "tensorflow",
    "tfx",
    "tensorflow-model-analysis",
    "tensorflow-data-validation",
    "ml-metadata",
    "apache-beam",
    "kfp",
    "numpy",
    "protobuf",
)
_MAKE_ANEW = "Remove the folder .venv and start ./kerasline again."
_MINIMUM_MEMORY_GIB = 4
_MINIMUM_DISK_GIB = 2
_PROBE_TIMEOUT_SECS = 180
# In a process of its own, so that a TensorFlow that crashes or hangs is a finding like any other.
PROBE = (sys.executable, "-P", "-m", "pipeline.environment.device_probe")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong: a sentence that says what, and one that says what to do."""

    what: str
    cure: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """What `examine` found.

    Attributes:
        versions: Name -> version, of Kerasline, Python, the C library and the main packages.
        machine: Name -> text, of the system, cores, memory, disk and devices.
        problems: Empty when all is well.
    """

    versions: dict[str, str]
    machine: dict[str, str]
    problems: tuple[Problem, ...]


def examine(folder: Path) -> Report:
    """Examines the environment that this process runs in.

    Args:
        folder: Where runs will be written; its disk is looked at.
    """
    versions = {
        "kerasline": version.VERSION,
        "python": platform.python_version(),
        "c library": fingerprint.c_library(),
        **{name: _installed_version(name) or "missing" for name in SHOWN_PACKAGES},
    }
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    disk_gib = shutil.disk_usage(folder).free / 2**30
    devices, device_problems = probe_devices(PROBE, timeout_secs=_PROBE_TIMEOUT_SECS)
    machine = {
        "system": platform.platform(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory_gib:.1f} GiB",
        "free disk": f"{disk_gib:.1f} GiB at {folder.resolve()}",
        "devices": ", ".join(devices) or "unknown",
    }
    problems = [
        *environment_problems(ROOT),
        *resource_problems(memory_gib=memory_gib, disk_gib=disk_gib, folder=folder),
        *device_problems,
    ]
    return Report(versions=versions, machine=machine, problems=tuple(problems))


def environment_problems(root: Path) -> list[Problem]:
    """What is wrong with the interpreter, the C library and the installed packages."""
    problems = []
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        problems.append(
            Problem(
                what=f"Python must be 3.11, 3.12 or 3.13, this is {platform.python_version()}.",
                cure="Install one of them, name it in KERASLINE_PYTHON and remove .venv.",
            )
        )
    if glibc.is_needed():
        problems.append(
            Problem(
                what=f"The C library must be glibc 2.39 or newer, this is {glibc.version()}.",
                cure=_MAKE_ANEW,
            )
        )
    # Where Kerasline is installed without its repository, there is no lock to compare with.
    if (root / "requirements/runtime.txt").is_file():
        problems += _lock_problems(root)
    return problems


def resource_problems(*, memory_gib: float, disk_gib: float, folder: Path) -> list[Problem]:
    """What is wrong with the memory and the disk that runs will use."""
    problems = []
    if memory_gib < _MINIMUM_MEMORY_GIB:
        problems.append(
            Problem(
                what=f"A run needs {_MINIMUM_MEMORY_GIB} GiB of memory, here are {memory_gib:.1f}.",
                cure="Use a larger machine; TensorFlow and TFX alone take over 2 GiB.",
            )
        )
    if disk_gib < _MINIMUM_DISK_GIB:
        problems.append(
            Problem(
                what=f"A run needs {_MINIMUM_DISK_GIB} GiB of disk, {disk_gib:.1f} are free.",
                cure="Free some space, or give `kerasline run --root` a folder on another disk.",
            )
        )
    if not os.access(folder, os.W_OK):
        problems.append(
            Problem(
                what=f"The folder {folder.resolve()} cannot be written to.",
                cure="Start from a folder of yours, or give `kerasline run --root` one.",
            )
        )
    return problems


def probe_devices(
    command: tuple[str, ...], *, timeout_secs: float
) -> tuple[list[str], list[Problem]]:
    """Imports TensorFlow and Keras in another process and lists the devices they see."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            timeout=timeout_secs,
            stdin=subprocess.DEVNULL,
        )
        found = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        what = f"TensorFlow took over {timeout_secs:.0f} s to import."
        cure = "Try again on a quieter machine; if it stays so, make the environment anew."
        return [], [Problem(what=what, cure=f"{cure} {_MAKE_ANEW}")]
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        what = f"TensorFlow, Keras or ML Metadata fails to import (exit {error.returncode}): "
        return [], [Problem(what=f"{what}{reason}", cure=_MAKE_ANEW)]
    return found["devices"], _device_problems(found["devices"], found["keras_backend"])


def _device_problems(devices: list[str], keras_backend: str) -> list[Problem]:
    problems = []
    if keras_backend != "tensorflow":
        problems.append(
            Problem(
                what=f"Keras runs on {keras_backend}, TFX needs TensorFlow.",
                cure="Unset KERAS_BACKEND, or set `backend` in ~/.keras/keras.json to tensorflow.",
            )
        )
    has_driver = Path("/proc/driver/nvidia/version").exists()
    if has_driver and not any(device.startswith("GPU") for device in devices):
        problems.append(
            Problem(
                what="This machine has an NVIDIA driver, but TensorFlow sees no GPU.",
                cure="Add NVIDIA's libraries: .venv/tools/bin/uv pip install --python "
                f".venv/bin/python 'tensorflow[and-cuda]=={_installed_version('tensorflow')}'",
            )
        )
    return problems


def _lock_problems(root: Path) -> list[Problem]:
    if Path(sys.prefix) == root / ".venv" and not bootstrap.is_ready(
        root, bootstrap.expected_stamp(root)
    ):
        what = "The environment .venv was made from another lock, or was not finished."
        return [Problem(what=what, cure="Start ./kerasline, which makes it anew.")]
    wrong = []
    for pin in map(Requirement, fingerprint.packages()):
        if pin.marker is not None and not pin.marker.evaluate():
            continue
        installed = _installed_version(pin.name)
        if installed is None or not pin.specifier.contains(installed, prereleases=True):
            wrong.append(f"{pin.name} {installed or 'missing'} (locked{pin.specifier})")
    if not wrong:
        return []
    what = f"{len(wrong)} packages differ from the lock: {', '.join(wrong[:8])}."
    return [Problem(what=what, cure=_MAKE_ANEW)]


def _installed_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
