"""TensorFlow's file systems as pyarrow's, for schemes that only TensorFlow knows, such as ram."""

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.fs
import tensorflow as tf

from components import addresses


def open_scheme(scheme: str, root: str) -> pyarrow.fs.FileSystem:
    """Returns the file system of a scheme, whose paths are addresses without it.

    Args:
        scheme: Such as "ram".
        root: The address that was asked for, for the message.

    Raises:
        AddressError: If TensorFlow has no such scheme.
    """
    known = [name for name in tf.io.gfile.get_registered_schemes() if name]
    if scheme not in known:
        raise addresses.AddressError(
            "Expected an address of a file system that pyarrow knows (file, gs, s3, hdfs, abfs) or "
            f"TensorFlow ({', '.join(sorted(known))}). Received: {root}. Correct it, or copy the "
            "files to this machine."
        )
    return pyarrow.fs.PyFileSystem(_Handler(scheme))


@contextlib.contextmanager
def _as_os_errors() -> Iterator[None]:
    try:
        yield
    except tf.errors.NotFoundError as error:
        raise FileNotFoundError(2, error.message) from error
    except tf.errors.OpError as error:
        raise OSError(error.message) from error


class _Raw(io.RawIOBase):
    """A file of TensorFlow's that is read at any place."""

    def __init__(self, uri: str):
        self._file = tf.io.gfile.GFile(uri, "rb")
        with _as_os_errors():
            self._size = self._file.size()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _as_os_errors():
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = (0, self.tell(), self._size)[whence]
        with _as_os_errors():
            self._file.seek(start + offset)
        return start + offset

    def tell(self) -> int:
        with _as_os_errors():
            return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class _Written(io.RawIOBase):
    """A file of TensorFlow's that is written from its beginning."""

    def __init__(self, uri: str):
        self._file = tf.io.gfile.GFile(uri, "wb")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        with _as_os_errors():
            self._file.write(bytes(data))
        return len(data)

    def close(self) -> None:
        if not self.closed:
            with _as_os_errors():
                self._file.close()
        super().close()


class _Handler(pyarrow.fs.FileSystemHandler):
    """What pyarrow asks of a file system, by `tf.io.gfile`."""

    def __init__(self, scheme: str):
        self._prefix = f"{scheme}://"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Handler) and self._prefix == other._prefix

    def __hash__(self) -> int:
        return hash(self._prefix)

    def get_type_name(self) -> str:
        return f"tensorflow+{self._prefix.removesuffix('://')}"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[pyarrow.fs.FileInfo]:
        return [self._info(path.rstrip("/")) for path in paths]

    def _info(self, path: str) -> pyarrow.fs.FileInfo:
        try:
            with _as_os_errors():
                status = tf.io.gfile.stat(self._prefix + path)
        except FileNotFoundError:
            return pyarrow.fs.FileInfo(path, pyarrow.fs.FileType.NotFound)
        if status.is_directory:
            return pyarrow.fs.FileInfo(path, pyarrow.fs.FileType.Directory)
        # 0 is what a file system says that keeps no times.
        mtime_ns = status.mtime_nsec or None
        return pyarrow.fs.FileInfo(
            path, pyarrow.fs.FileType.File, size=status.length, mtime_ns=mtime_ns
        )

    def get_file_info_selector(self, selector: pyarrow.fs.FileSelector) -> list[Any]:
        folder = selector.base_dir.rstrip("/")
        if not tf.io.gfile.isdir(self._prefix + folder):
            if selector.allow_not_found:
                return []
            raise FileNotFoundError(2, "No such folder", self._prefix + folder)
        with _as_os_errors():
            names = [name.rstrip("/") for name in tf.io.gfile.listdir(self._prefix + folder)]
        found = []
        for name in names:
            info = self._info(f"{folder}/{name}")
            found.append(info)
            if selector.recursive and info.type == pyarrow.fs.FileType.Directory:
                below = pyarrow.fs.FileSelector(info.path, recursive=True)
                found += self.get_file_info_selector(below)
        return found

    def create_dir(self, path: str, recursive: bool) -> None:
        del recursive
        with _as_os_errors():
            tf.io.gfile.makedirs(self._prefix + path)

    def delete_dir(self, path: str) -> None:
        with _as_os_errors():
            tf.io.gfile.rmtree(self._prefix + path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        del missing_dir_ok
        for info in self.get_file_info_selector(pyarrow.fs.FileSelector(path)):
            (self.delete_file if info.is_file else self.delete_dir)(info.path)

    def delete_root_dir_contents(self) -> None:
        raise OSError(f"{self._prefix} is never emptied as a whole.")

    def delete_file(self, path: str) -> None:
        with _as_os_errors():
            tf.io.gfile.remove(self._prefix + path)

    def move(self, src: str, dest: str) -> None:
        with _as_os_errors():
            tf.io.gfile.rename(self._prefix + src, self._prefix + dest, overwrite=True)

    def copy_file(self, src: str, dest: str) -> None:
        with _as_os_errors():
            tf.io.gfile.copy(self._prefix + src, self._prefix + dest, overwrite=True)

    def open_input_stream(self, path: str) -> pyarrow.PythonFile:
        return self.open_input_file(path)

    def open_input_file(self, path: str) -> pyarrow.PythonFile:
        return pyarrow.PythonFile(io.BufferedReader(_Raw(self._prefix + path)), mode="r")

    def open_output_stream(self, path: str, metadata: Any) -> pyarrow.PythonFile:
        del metadata
        return pyarrow.PythonFile(_Written(self._prefix + path), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> pyarrow.PythonFile:
        raise OSError(f"Files at {self._prefix} are written from their beginning.")
