"""A private, newer C library for `.venv` on Linux systems that are older than the wheels we need.

ml-metadata and TensorFlow Data Validation come only as wheels for glibc 2.39. The interpreter in
`.venv` is a copy, told to load a newer glibc that lies beside it; the system's own stays as it is,
and subprocesses inherit the arrangement because they start `sys.executable`.

Runs on the base interpreter, before anything is installed: standard library only.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from pipeline.environment import apt

NEEDED = (2, 39)
LOADER = "ld-linux-x86-64.so.2"
_PACKAGES = ("libc6", "libstdc++6", "libgcc-s1")


def version() -> tuple[int, int] | None:
    """The running interpreter's glibc, such as (2, 36); None where the C library is another."""
    try:
        name, number = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
    except (ValueError, OSError, AttributeError):
        return None
    major, minor = number.split(".")[:2]
    return (int(major), int(minor)) if name == "glibc" else None


def fetch(folder: Path) -> Path:
    """Puts a newer glibc, libstdc++ and libgcc_s under `folder`; returns the libraries' folder.

    Raises:
        SetupError: If apt cannot bring them (see `apt.download`).
    """
    packages = folder / "packages"
    packages.mkdir(parents=True)
    apt.unpack(apt.download(_PACKAGES, packages), folder / "root")
    shutil.rmtree(packages)
    return next((folder / "root").rglob("libc.so.6")).parent


def patch(interpreter: Path, *, libraries: Path, patchelf: Path) -> None:
    """Makes a copied interpreter load its C library from `libraries`.

    Args:
        interpreter: The copy to change, in place by rename.
        libraries: What `fetch` returned.
        patchelf: The patchelf program.
    """
    # The interpreter's own libpython, where it is shared, follows the new C library; an rpath that
    # is forced to the old kind (DT_RPATH) also serves the libraries that load other libraries.
    base = [sysconfig.get_config_var("LIBDIR"), f"{sys.base_prefix}/lib"]
    rpath = ":".join(dict.fromkeys([str(libraries), *base]))
    options = ["--set-interpreter", str(libraries / LOADER), "--force-rpath", "--set-rpath", rpath]
    # TensorFlow's RUNPATH would find the system's older libstdc++ first: load the new one at start.
    options += ["--add-needed", "libstdc++.so.6", "--add-needed", "libgcc_s.so.1"]
    copy = interpreter.with_name(interpreter.name + ".patched")
    shutil.copy2(interpreter, copy)
    subprocess.run([patchelf, *options, copy], check=True)
    os.replace(copy, interpreter)


def is_needed() -> bool:
    """Whether this is Linux with a glibc that is too old for the wheels."""
    found = version()
    return sys.platform == "linux" and found is not None and found < NEEDED
