"""Imports go one way only, and TFX stays in the files that declare or execute its components."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Each layer may import itself and what stands before it.
LAYERS = ("models", "serving", "components", "pipeline")
TFX_FAMILY = (
    "apache_beam",
    "google.cloud",
    "kfp",
    "tensorflow_data_validation",
    "tensorflow_model_analysis",
    "tensorflow_transform",
    "tfx",
    "tfx_bsl",
)
# File names that declare or adapt TFX components, wherever they are, and the files that run DAGs.
TFX_NAMES = ("component.py", "executor.py", "run_fn.py")
TFX_FILES = (
    "components/evaluator/baseline.py",
    "components/evaluator/folded.py",
    "components/evaluator/tfma_files.py",
    "components/ingest/beam_processes.py",
    "pipeline/dag.py",
    "pipeline/local_runner.py",
)
TFX_FOLDERS = ("pipeline/runners",)
SOURCES = sorted(
    path.relative_to(ROOT).as_posix() for layer in LAYERS for path in (ROOT / layer).rglob("*.py")
)


def imported_modules(path):
    """The dotted names that a file imports anywhere in it, `from a import b` as both a and a.b."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_within(module, package):
    return module == package or module.startswith(package + ".")


def may_import_tfx(path):
    return (
        Path(path).name in TFX_NAMES
        or path in TFX_FILES
        or any(path.startswith(folder + "/") for folder in TFX_FOLDERS)
    )


@pytest.mark.parametrize("path", SOURCES)
def test_imports_go_downward_only(path):
    layer = LAYERS.index(path.split("/")[0])
    above = LAYERS[layer + 1 :]
    upward = [m for m in imported_modules(path) if any(is_within(m, a) for a in above)]
    assert upward == []


@pytest.mark.parametrize("path", [path for path in SOURCES if not may_import_tfx(path)])
def test_tfx_stays_in_the_files_that_adapt_it(path):
    found = [m for m in imported_modules(path) if any(is_within(m, t) for t in TFX_FAMILY)]
    assert found == []


@pytest.mark.parametrize("path", [path for path in SOURCES if Path(path).name == "config.py"])
def test_config_modules_import_no_framework(path):
    frameworks = ("keras", "tensorflow", "numpy", *TFX_FAMILY)
    found = [m for m in imported_modules(path) if any(is_within(m, f) for f in frameworks)]
    assert found == []


def test_every_source_folder_is_a_package():
    folders = {(ROOT / path).parent for path in SOURCES}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_the_command_line_starts_without_tensorflow():
    program = (
        "import sys; from pipeline.cli import main; main.main(['--help']); "
        "sys.exit('tensorflow' in sys.modules or 'keras' in sys.modules or 'numpy' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, cwd=ROOT, check=False, timeout=60).returncode == 0
