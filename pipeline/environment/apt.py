"""Signed packages from the distribution's own mirror, without root and without touching the system.

Runs on the base interpreter, before anything is installed: standard library only.
"""

import dataclasses
import platform
import shutil
import subprocess
from pathlib import Path


class SetupError(Exception):
    """The environment cannot be made here; the message says what is missing.

    Attributes:
        cure: What to do; empty where only the container helps.
    """

    def __init__(self, what: str, *, cure: str = ""):
        super().__init__(what)
        self.cure = cure


@dataclasses.dataclass(frozen=True, kw_only=True)
class Release:
    """A distribution's release that carries what Kerasline needs, and the keyring that signs it."""

    suite: str
    components: str
    keyring: Path


RELEASES = {
    "debian": Release(
        suite="trixie",
        components="main",
        keyring=Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    ),
    "ubuntu": Release(
        suite="noble",
        components="main universe",
        keyring=Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg"),
    ),
}


def download(packages: tuple[str, ...], folder: Path) -> list[Path]:
    """Downloads Debian packages, with checked signatures, from the release in `RELEASES`.

    Args:
        packages: Package names, such as `libc6`.
        folder: Receives the packages, and apt's lists (about 10 MB) meanwhile.

    Raises:
        SetupError: If the machine has no apt, is of another family, or no mirror answers.
    """
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise SetupError(f"this machine has no `{tool}` to get {', '.join(packages)} with")
    release, codename = _release_of_this_machine()
    if not release.keyring.is_file():
        raise SetupError(f"the keyring {release.keyring} that signs the packages is missing")
    failures = []
    for mirror in _mirrors(codename):
        try:
            return _download_from(mirror, release, packages, folder)
        except subprocess.CalledProcessError as error:
            failures.append(f"{mirror}: {_last_line(error.stderr)}")
    detail = "; ".join(failures) or f"apt's sources name no mirror of {codename}"
    raise SetupError(f"apt could not get {', '.join(packages)} from {release.suite} ({detail})")


def unpack(packages: list[Path], folder: Path) -> None:
    """Unpacks the files of Debian packages under `folder`, running none of their scripts."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)


def _release_of_this_machine() -> tuple[Release, str]:
    try:
        fields = platform.freedesktop_os_release()
    except OSError:
        fields = {}
    families = [fields.get("ID", "unknown"), *fields.get("ID_LIKE", "").split()]
    # A distribution derived from Ubuntu lists both families.
    for family in ("ubuntu", "debian"):
        if family in families:
            codename = fields.get(f"{family.upper()}_CODENAME", fields.get("VERSION_CODENAME", ""))
            return RELEASES[family], codename
    raise SetupError(f"packages are known for Debian and Ubuntu only, this is {families[0]}")


def _mirrors(codename: str) -> list[str]:
    """The addresses in apt's sources that serve the running release's main component."""
    listing = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(RELEASE) $(COMPONENT) $(REPO_URI)"]
        + ["Identifier: Packages"],
        check=True,
        capture_output=True,
        text=True,
    )
    rows = [line.split(maxsplit=2) for line in listing.stdout.splitlines()]
    found = [row[2] for row in rows if row[:2] == [codename, "main"]]
    return list(dict.fromkeys(found))


def _download_from(
    mirror: str, release: Release, packages: tuple[str, ...], folder: Path
) -> list[Path]:
    state = folder / "apt"
    (state / "lists/partial").mkdir(parents=True, exist_ok=True)
    (state / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
    sources = state / "sources.list"
    sources.write_text(
        f"deb [signed-by={release.keyring}] {mirror} {release.suite} {release.components}\n"
    )
    # An empty package status, so that the machine's own versions and holds play no part.
    (state / "status").touch()
    settings = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferences": "-",
        "Dir::Etc::preferencesparts": "-",
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        # As root, apt would hand the download to a user who may not enter this folder.
        "APT::Sandbox::User": "root",
    }
    options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
    for command in (["update", "--error-on=any"], ["download", *packages]):
        subprocess.run(
            ["apt-get", "-q", *options, *command],
            check=True,
            capture_output=True,
            text=True,
            cwd=folder,
        )
    return sorted(folder.glob("*.deb"))


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]
