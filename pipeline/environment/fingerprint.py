"""Digests of what a result depends on apart from its recipe and data: the environment and the code.

Both are quick (milliseconds) and import nothing of TensorFlow, so that the answer "nothing changed"
costs nothing.
"""

import hashlib
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_CODE_SUFFIXES = (".py", ".toml")


def environment() -> dict[str, str]:
    """What the environment consists of, as it is recorded beside a model.

    Returns:
        `packages` (a digest of the pinned names and versions), `python`, `implementation`,
        `platform` and `c_library`.
    """
    return {
        "packages": _digest("\n".join(packages()).encode()),
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": f"{sys.platform}-{platform.machine()}",
        "c_library": c_library(),
    }


def environment_digest() -> str:
    """A digest of `environment()`: 64 hexadecimal digits."""
    return _digest(json.dumps(environment(), sort_keys=True).encode())


def packages() -> list[str]:
    """The packages that results depend on, as sorted `name==version`.

    They are read from the lock, so that a linter's new version changes no result; an installation
    without the repository has no lock, and there they are read from what is installed.
    """
    lock = _ROOT / "requirements/runtime.txt"
    if lock.is_file():
        lines = lock.read_text(encoding="utf-8").splitlines()
        # A requirement starts its line; hashes and the comments on who asked for it are indented.
        return sorted(line.rstrip(" \\") for line in lines if line and line[0].isalnum())
    folders = [Path(folder) for folder in sys.path]
    infos = [info for folder in folders if folder.is_dir() for info in folder.glob("*.dist-info")]
    return sorted(info.stem.replace("-", "==") for info in infos)


def c_library() -> str:
    """The C library this interpreter runs on, such as `glibc 2.41`; `unknown` outside glibc."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    except (AttributeError, OSError, ValueError):
        return "unknown"


def code_digest(*modules: str) -> str:
    """A digest of the source of modules and of all that packages hold.

    Args:
        *modules: Dotted names, such as `"models"` or `"components.trainer.loop"`; only their parent
            packages are imported. A package's TOML files count as source.

    Returns:
        64 hexadecimal digits, the same wherever the code is installed and in whatever order the
        modules are named.

    Raises:
        ModuleNotFoundError: If a name leads nowhere.
    """
    sources = {label: path for name in modules for label, path in _sources(name)}
    digest = hashlib.sha256()
    for label in sorted(sources):
        digest.update(f"{label}\0{_digest(sources[label].read_bytes())}\n".encode())
    return digest.hexdigest()


def _sources(name: str) -> list[tuple[str, Path]]:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"`modules` must name modules or packages with an __init__.py. Received: {name!r}."
        )
    origin = Path(spec.origin)
    if spec.submodule_search_locations is None:
        return [(name, origin)]
    folder = origin.parent
    files = [path for path in folder.rglob("*") if path.suffix in _CODE_SUFFIXES]
    return [(f"{name}/{path.relative_to(folder).as_posix()}", path) for path in files]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
