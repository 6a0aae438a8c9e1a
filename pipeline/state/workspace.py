"""The folders of one recipe under the root, and the checks that they can be worked in."""

import contextlib
import datetime
import fcntl
import os
import pathlib
import secrets
import shutil
from collections.abc import Iterator

from pipeline.state import request, summary

REQUEST_FILE_NAME = "request.json"
MINIMUM_FREE_MIB = 512


class WorkspaceError(RuntimeError):
    """The root cannot be worked in; the message says why and what to do."""


def check_is_folder(root: str) -> None:
    """Checks that a root is a folder of this machine.

    Raises:
        WorkspaceError: If it is an address.
    """
    if "://" in root:
        raise WorkspaceError(
            "Expected the root of a run on this machine to be a folder, since its database and its "
            f"published versions need one. Received: root = {root}. Name a folder, which may be a "
            "mounted bucket, or compile the recipe for Kubeflow or Vertex AI."
        )


class Workspace:
    """Where a recipe's runs, artifacts and published models lie.

    Attributes:
        folder: ROOT/RECIPE, absolute.
    """

    def __init__(self, root: str | pathlib.Path, recipe_name: str):
        self.folder = pathlib.Path(root).expanduser().absolute() / recipe_name

    @property
    def published_dir(self) -> pathlib.Path:
        """Folder of the numbered versions."""
        return self.folder / "published"

    @property
    def artifacts_dir(self) -> pathlib.Path:
        """Folder of what the steps made, one folder per step."""
        return self.folder / "artifacts"

    def run_dir(self, run_id: str) -> pathlib.Path:
        """Folder of one run."""
        return self.folder / run_id

    def runs(self) -> list[pathlib.Path]:
        """Folders of all runs, newest first."""
        if not self.folder.is_dir():
            return []
        found = [path.parent for path in self.folder.glob(f"*/{REQUEST_FILE_NAME}")]
        return sorted(found, reverse=True)

    def last_published(self) -> tuple[request.EngineRequest, summary.RunSummary] | None:
        """What the newest published run was asked, and what came of it."""
        for run_dir in self.runs():
            found = summary.read(run_dir)
            asked = request.read(run_dir / REQUEST_FILE_NAME)
            if found is not None and asked is not None and found.status == "published":
                return asked, found
        return None

    def prepare(self) -> None:
        """Makes the folder and checks that a run can write there.

        Raises:
            WorkspaceError: If the folder cannot be made or written, or the disk is nearly full.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            check_writable(self.folder)
        except OSError as error:
            raise WorkspaceError(
                f"Cannot write to {self.folder}: {error.strerror}. "
                "Make the folder writable, or name another one with --root."
            ) from None
        check_free(self.folder, cure="name another disk with --root")

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps other runs of this recipe out of this root for as long as the context lasts.

        The lock ends with the process, however it ends.

        Raises:
            WorkspaceError: If another run holds it.
        """
        path = self.folder / ".lock"
        with path.open("a+", encoding="utf-8") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                stream.seek(0)
                raise WorkspaceError(
                    f"Another run is at work in {self.folder} ({stream.read().strip()}). "
                    "Wait for it, stop it, or name another folder with --root."
                ) from None
            stream.truncate(0)
            stream.write(f"process {os.getpid()}\n")
            stream.flush()
            yield


def new_run_id() -> str:
    """A run id that sorts by time and is unique: `20261130-191500-4f2a`, in UTC."""
    now = datetime.datetime.now(datetime.UTC)
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def check_writable(folder: pathlib.Path) -> None:
    """Writes and removes a small file.

    Raises:
        OSError: If that fails, as on a read-only or full disk.
    """
    # os.access would say yes to root on a read-only mount's neighbour, and knows nothing of quotas.
    probe = folder / f".probe-{os.getpid()}"
    try:
        probe.write_bytes(b"0" * 4096)
    finally:
        probe.unlink(missing_ok=True)


def check_free(folder: pathlib.Path, *, cure: str) -> None:
    """Refuses a disk with less than `MINIMUM_FREE_MIB` free.

    Raises:
        WorkspaceError: If less is free; the sentence ends with `cure`.
    """
    free_mib = shutil.disk_usage(folder).free // 2**20
    if free_mib < MINIMUM_FREE_MIB:
        raise WorkspaceError(
            f"The disk of {folder} is nearly full: {free_mib} MiB are free and a run needs "
            f"{MINIMUM_FREE_MIB} MiB. Make room, or {cure}."
        )
