"""File systems behind addresses such as gs://bucket/folder: pyarrow's own, or TensorFlow's."""

import datetime
import functools
import os
import urllib.parse
from typing import NamedTuple

import pyarrow
import pyarrow.fs

# A scheme that pyarrow does not know is looked up among TensorFlow's, such as ram.
_PYARROW_SCHEMES = ("file", "gs", "gcs", "s3", "hdfs", "viewfs", "abfs", "abfss")
_GCS_SCHEMES = ("gs", "gcs")
# Where Google's other clients look for a store that stands in for Google's.
_GCS_EMULATOR = "STORAGE_EMULATOR_HOST"
# Without a limit, pyarrow tries for a quarter of an hour to find credentials where there are none.
_QUICK_RETRY_SECS, _PATIENT_RETRY_SECS = 3, 60
_CURE = "Check the name, the network and the credentials that the environment gives."
# How Hadoop's client begins to list every place in which it looked for a library.
_LIBRARY_SEARCH = " dlopen("
_LIBRARY_CURE = "Install Java and Hadoop, and set JAVA_HOME and HADOOP_HOME to their folders."


class AddressError(ValueError):
    """An address cannot be used; the message says why and what to check."""


class Place(NamedTuple):
    """A file system, and the part of addresses that it goes by another name for.

    >>> here = place_of("file:///tmp/a.csv")
    >>> here.path("file:///tmp/a.csv"), here.address("/tmp/b.csv")
    ('/tmp/a.csv', 'file:///tmp/b.csv')
    """

    filesystem: pyarrow.fs.FileSystem
    root: str  # How addresses begin, such as s3://bucket.
    base: str  # How paths within the file system begin instead, such as bucket.

    def path(self, address: str) -> str:
        """Returns the path of an address within the file system."""
        return self.base + address[len(self.root) :]

    def address(self, path: str) -> str:
        """Returns the address of a path within the file system."""
        return self.root + path[len(self.base) :]


def is_address(path: object) -> bool:
    """Says whether a path names its file system, as gs://bucket/folder does."""
    return "://" in str(path)


def place_of(address: str, *, is_first: bool = False) -> Place:
    """Returns the file system of an address, made once for each bucket or host.

    Args:
        address: Begins with a scheme and ://.
        is_first: True to give up soon, for the request that shows whether the store answers at all.

    Raises:
        AddressError: If the address cannot be parsed, or no file system has its scheme.
    """
    scheme, _, rest = address.partition("://")
    authority = "" if scheme == "file" else rest.split("/")[0]
    return _place(f"{scheme}://{authority}", is_first, os.environ.get(_GCS_EMULATOR))


@functools.cache
def _place(root: str, is_first: bool, emulator: str | None) -> Place:
    scheme, _, authority = root.partition("://")
    secs = _QUICK_RETRY_SECS if is_first else _PATIENT_RETRY_SECS
    if scheme not in _PYARROW_SCHEMES:
        # Imported here, because it imports TensorFlow.
        from components import tensorflow_files

        return Place(tensorflow_files.open_scheme(scheme, root), root, authority)
    try:
        if scheme in _GCS_SCHEMES and emulator:
            return Place(_gcs_emulator(emulator, secs), root, authority.rpartition("@")[2])
        limit = f"?retry_limit_seconds={secs}" if scheme in _GCS_SCHEMES else ""
        named = f"{root}/" if scheme == "file" else root
        filesystem, base = pyarrow.fs.FileSystem.from_uri(f"{named}{limit}")
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise unreachable(f"to reach {root}", error) from error
    return Place(filesystem, root, base.rstrip("/"))


def _gcs_emulator(address: str, secs: int) -> pyarrow.fs.GcsFileSystem:
    parts = urllib.parse.urlsplit(address if is_address(address) else f"http://{address}")
    return pyarrow.fs.GcsFileSystem(
        anonymous=True,
        scheme=parts.scheme,
        endpoint_override=parts.netloc,
        retry_time_limit=datetime.timedelta(seconds=secs),
    )


def unreachable(task: str, error: Exception) -> AddressError:
    """Returns the error of a store that does not do what was asked, told in one line.

    Args:
        task: What was asked, such as "to list gs://bucket/*.csv".
        error: What the file system said.
    """
    # Google's client appends its settings to what went wrong.
    said = str(error).partition(" error_info=")[0].replace("google::cloud::Status(", "")
    found, search, _ = " ".join(said.split()).partition(_LIBRARY_SEARCH)
    cure = _LIBRARY_CURE if search else _CURE
    return AddressError(f"Expected {task}, but: {found.removesuffix('.')}. {cure}")
