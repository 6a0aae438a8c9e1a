"""What the distribution holds: every source and recipe, no tests, the command."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("models", "serving", "components", "pipeline")
BUILD = """
import sys
from setuptools import build_meta
# Each build changes sys.argv.
folder = sys.argv[1]
build_meta.build_sdist(folder)
build_meta.build_wheel(folder)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder that holds a wheel and a source distribution, built from a copy of the tree."""
    tree = tmp_path_factory.mktemp("tree")
    for package in (*PACKAGES, "requirements", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tree / package, ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "LICENSE", "README.md"):
        shutil.copy2(ROOT / name, tree)
    output = tmp_path_factory.mktemp("output")
    command = [sys.executable, "-c", BUILD, output]
    subprocess.run(command, cwd=tree, check=True, capture_output=True, timeout=120)
    return output


@pytest.fixture(scope="module")
def wheel(built):
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def sources():
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.*")]
    return {
        path.relative_to(ROOT).as_posix()
        for path in files
        if "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def metadata(wheel, name):
    (path,) = [path for path in wheel if path.endswith(f".dist-info/{name}")]
    return wheel[path].decode()


def test_the_wheel_holds_every_source_file_and_nothing_else(wheel, sources):
    assert {name for name in wheel if ".dist-info/" not in name} == sources


def test_the_wheel_installs_the_command(wheel):
    assert "kerasline = pipeline.cli.main:main" in metadata(wheel, "entry_points.txt")


def test_the_client_extra_asks_for_no_framework(wheel):
    lines = metadata(wheel, "METADATA").splitlines()
    client = {re.match(r"Requires-Dist: (\w+)", line)[1] for line in lines if '"client"' in line}
    assert client == {"grpcio", "httpx", "numpy", "protobuf"}


def test_the_wheel_accepts_the_supported_pythons(wheel):
    found = re.search(r"^Requires-Python: (.*)$", metadata(wheel, "METADATA"), re.MULTILINE)
    assert set(found[1].split(",")) == {">=3.11", "<3.14"}


def test_the_source_distribution_builds_on_its_own(built, tmp_path):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.iterdir()
    command = [sys.executable, "-c", BUILD, tmp_path]
    subprocess.run(command, cwd=tree, check=True, capture_output=True, timeout=120)
    assert list(tmp_path.glob("*.whl"))
