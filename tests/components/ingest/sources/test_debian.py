import gzip
import os
import stat
import tarfile
from pathlib import Path

import pytest

from components.ingest.sources import debian
from tests.components import data_factories

FOLDER = debian.PACKAGES["fashion_mnist"].folder


def test_installed_package_is_found(tmp_path):
    data_factories.write_idx_dataset(tmp_path / "root" / FOLDER)
    source = debian.find_installed("fashion_mnist", tmp_path / "cache", root=tmp_path / "root")
    assert source.origin == "Debian package dataset-fashion-mnist"
    assert {path.parent for path in source.files().values()} == {tmp_path / "root" / FOLDER}


def test_package_without_one_of_its_files_is_not_used(tmp_path):
    source = data_factories.write_idx_dataset(tmp_path / "root" / FOLDER)
    source.files()["train-images"].unlink()
    assert debian.find_installed("fashion_mnist", tmp_path, root=tmp_path / "root") is None


def test_dataset_that_debian_lacks_is_not_found(tmp_path):
    assert debian.find_installed("cifar10", tmp_path, root=tmp_path) is None


def write_command(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """A folder of commands that come before the system's; `dpkg -x` unpacks a tar file."""
    folder = tmp_path / "commands"
    data_factories.write_idx_dataset(tmp_path / "package" / FOLDER)
    with tarfile.open(tmp_path / "package.tar", "w") as archive:
        archive.add(tmp_path / "package" / "usr", "usr")
    write_command(folder, "dpkg", 'tar -xf "$2" -C "$3"')
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


def test_fetched_package_is_found_afterwards(tmp_path, commands):
    write_command(commands, "apt-get", f"cp {tmp_path}/package.tar data_1_all.deb")
    debian.fetch("fashion_mnist", tmp_path / "cache")
    source = debian.find_installed("fashion_mnist", tmp_path / "cache", root=tmp_path / "none")
    assert len(list(source.blocks())) == 2


def test_system_without_package_lists_gets_private_ones(tmp_path, commands):
    script = (
        'case "$*" in\n'
        "  update*Dir::State::Lists=*) touch ../updated ;;\n"
        f"  download*Dir::State::Lists=*) [ -e ../updated ] && cp {tmp_path}/package.tar d.deb ;;\n"
        "  *) echo 'E: Unable to locate package' >&2; exit 100 ;;\n"
        "esac"
    )
    write_command(commands, "apt-get", script)
    debian.fetch("fashion_mnist", tmp_path / "cache")
    assert debian.find_installed("fashion_mnist", tmp_path / "cache", root=tmp_path / "none")


def test_failure_says_what_apt_said_and_leaves_nothing(tmp_path, commands):
    write_command(commands, "apt-get", "echo 'W: slow' >&2; echo 'E: no network' >&2; exit 100")
    with pytest.raises(debian.FetchError, match=r"apt-get said: E: no network"):
        debian.fetch("fashion_mnist", tmp_path / "cache")
    assert [path.suffix for path in (tmp_path / "cache" / "debian").iterdir()] == [".lock"]


def test_system_without_apt_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(debian.FetchError, match=r"this system has no apt-get"):
        debian.fetch("fashion_mnist", tmp_path / "cache")


def test_files_of_a_folder_are_read_in_place(tmp_path):
    data_factories.write_idx_dataset(tmp_path, num_train=9)
    source = debian.find_idx(tmp_path, origin="mine")
    assert gzip.decompress(source.pairs["train"][1].read_bytes())[8:] == bytes([0, 1, 2] * 3)
