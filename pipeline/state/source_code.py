"""Finds the source files that a step runs, by following imports inside the project."""

import ast
import functools
import hashlib
import pathlib
from collections.abc import Iterable, Iterator

PROJECT_DIR = pathlib.Path(__file__).parents[2]
_PACKAGES = ("pipeline", "components", "serving", "models")


def digests(
    roots: Iterable[str],
    *,
    project_dir: pathlib.Path = PROJECT_DIR,
    extra_files: Iterable[str] = (),
) -> dict[str, str]:
    """Digests of all files that `roots` are made of or import, directly or not.

    Args:
        roots: Dotted modules, or packages, which stand for all modules in them.
        project_dir: Folder that holds the packages.
        extra_files: Further files, relative to the project, taken without what they import.

    Returns:
        Path relative to the project -> SHA-256 of the bytes in hexadecimal, sorted by path.

    Raises:
        ValueError: If a root is neither a module nor a package of the project.
    """
    waiting = [path for root in roots for path in _files_of_root(root, project_dir)]
    found: set[pathlib.Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imported_files(path, project_dir)
    found |= {project_dir / name for name in extra_files}
    names = sorted((path.relative_to(project_dir).as_posix(), path) for path in found)
    return {name: _digest(path, path.stat().st_mtime_ns) for name, path in names}


def _files_of_root(root: str, project_dir: pathlib.Path) -> list[pathlib.Path]:
    files = sorted(project_dir.joinpath(*root.split(".")).rglob("*.py"))
    if files:
        return files
    module = _module_file(root, project_dir)
    if module is None:
        raise ValueError(
            f"A step's code must be a module or package of the project. Received: {root!r}. "
            "Correct the table in pipeline/state/steps.py."
        )
    return [module]


def _module_file(name: str, project_dir: pathlib.Path) -> pathlib.Path | None:
    if name.split(".")[0] not in _PACKAGES:
        return None
    place = project_dir.joinpath(*name.split("."))
    for candidate in (place.with_suffix(".py"), place / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _imported_files(path: pathlib.Path, project_dir: pathlib.Path) -> Iterator[pathlib.Path]:
    for name in _imported_names(path, path.stat().st_mtime_ns):
        # `from a.b import c` may name the module a.b.c or a name inside the module a.b.
        for candidate in (name, name.rpartition(".")[0]):
            file = _module_file(candidate, project_dir)
            if file is not None:
                yield file
                break


@functools.cache
def _imported_names(path: pathlib.Path, _mtime_ns: int) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(name for name in names if name.split(".")[0] in _PACKAGES)


@functools.cache
def _digest(path: pathlib.Path, _mtime_ns: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
