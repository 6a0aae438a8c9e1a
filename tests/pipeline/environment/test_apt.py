"""Getting packages through apt: what it asks, and what it says where it cannot."""

import platform
import subprocess
from pathlib import Path

import pytest

from pipeline.environment import apt

needs_apt = pytest.mark.skipif(
    not any(release.keyring.is_file() for release in apt.RELEASES.values()),
    reason="this machine is neither Debian nor Ubuntu",
)


def test_a_machine_without_apt_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(apt.SetupError, match="this machine has no `apt-get` to get libc6 with"):
        apt.download(("libc6",), tmp_path)


@needs_apt
def test_another_family_is_told_which_are_known(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "fedora"})
    with pytest.raises(apt.SetupError, match="Debian and Ubuntu only, this is fedora"):
        apt.download(("libc6",), tmp_path)


@needs_apt
def test_an_unknown_release_names_the_sources(tmp_path, monkeypatch):
    fields = {"ID": "debian", "VERSION_CODENAME": "nosuchrelease"}
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: fields)
    with pytest.raises(apt.SetupError, match="sources name no mirror of nosuchrelease"):
        apt.download(("libc6",), tmp_path)


@needs_apt
def test_a_missing_keyring_is_named(tmp_path, monkeypatch):
    release = apt.Release(suite="s", components="main", keyring=Path("/nowhere/keyring.gpg"))
    monkeypatch.setattr(apt, "RELEASES", {"debian": release, "ubuntu": release})
    with pytest.raises(apt.SetupError, match=r"the keyring /nowhere/keyring\.gpg"):
        apt.download(("libc6",), tmp_path)


@needs_apt
def test_a_package_arrives_and_unpacks_and_the_system_keeps_its_own(tmp_path):
    before = subprocess.run(["dpkg-query", "-W"], check=True, capture_output=True).stdout
    packages = apt.download(("libgcc-s1",), tmp_path / "a folder with spaces")
    apt.unpack(packages, tmp_path / "root")
    assert list((tmp_path / "root").rglob("libgcc_s.so.1"))
    assert subprocess.run(["dpkg-query", "-W"], check=True, capture_output=True).stdout == before


@needs_apt
def test_an_unknown_package_is_named(tmp_path):
    with pytest.raises(apt.SetupError, match="apt could not get no-such-package-x from"):
        apt.download(("no-such-package-x",), tmp_path)
