"""Arrays in .npy and .npz files as streams of rows; nothing is ever unpickled."""

import contextlib
import dataclasses
import io
import math
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

import numpy as np
import pyarrow

from components.ingest.errors import DataError
from components.ingest.sources import files

# The name of the one array in an .npy file.
SINGLE = ""
_ZIP_MAGIC = b"PK"
KINDS = "biufMSU"


@dataclasses.dataclass(kw_only=True)
class ArrayStream:
    """An array of which only the rows that were asked for have been read."""

    uri: str
    file: BinaryIO
    shape: tuple[int, ...]
    dtype: np.dtype
    is_fortran: bool
    _next: int = 0
    _whole: np.ndarray | None = None

    @property
    def row_bytes(self) -> int:
        """What one row takes, at least 1."""
        return max(1, math.prod(self.shape[1:]) * self.dtype.itemsize)

    def read_rows(self, count: int) -> np.ndarray:
        """Returns the next rows.

        Raises:
            DataError: If the file ends before they do, or is damaged.
        """
        if not self.is_fortran:
            return self._read(count * self.row_bytes).reshape(count, *self.shape[1:])
        if self._whole is None:
            # Its rows lie apart, so that the array must be held in memory.
            values = self._read(self.shape[0] * self.row_bytes)
            self._whole = values.reshape(self.shape[::-1]).T
        self._next += count
        return self._whole[self._next - count : self._next]

    def check_end(self) -> None:
        """Checks that nothing follows the last row; zip files compare their checksums only then.

        Raises:
            DataError: If something does, or the file is damaged.
        """
        if self._bytes(1):
            raise DataError(
                f"Expected {self.uri} to end after its last row; more follows. Write it again."
            )

    def _read(self, num_bytes: int) -> np.ndarray:
        data = self._bytes(num_bytes)
        if len(data) < num_bytes:
            raise DataError(
                f"Expected {num_bytes} more bytes in {self.uri}; the file ends after {len(data)}. "
                "Fetch the file again."
            )
        return np.frombuffer(data, self.dtype)

    def _bytes(self, num_bytes: int) -> bytes:
        with _damage_named(self.uri):
            return self.file.read(num_bytes)


@dataclasses.dataclass(frozen=True)
class Arrays:
    """The arrays of one file; each is opened when it is asked for first."""

    uri: str
    names: tuple[str, ...]
    _archive: zipfile.ZipFile | None
    _file: BinaryIO
    _streams: dict[str, ArrayStream]

    @property
    def is_single(self) -> bool:
        """Whether it is an .npy file, whose array has no name."""
        return self._archive is None

    def stream(self, name: str) -> ArrayStream:
        """Returns an array, always the same stream for the same name.

        Raises:
            DataError: If it is none, or holds Python objects.
        """
        if name not in self._streams:
            if self._archive is None:
                self._streams[name] = _open_array(self._file, self.uri)
            else:
                with _damage_named(self.uri):
                    member = cast(BinaryIO, self._archive.open(f"{name}.npy"))
                self._streams[name] = _open_array(member, f"{name} of {self.uri}")
        return self._streams[name]


@contextlib.contextmanager
def open_arrays(file: files.SourceFile) -> Iterator[Arrays]:
    """Opens a .npy (also compressed with gzip) or an .npz file.

    Raises:
        DataError: If it cannot be read, or is neither.
    """
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(file.open_stream())
        if not cast(io.BufferedReader, stream).peek(2).startswith(_ZIP_MAGIC):
            yield Arrays(file.uri, (SINGLE,), None, stream, {})
            return
        with _damage_named(file.uri):
            raw = stack.enter_context(file.open_random())
            archive = stack.enter_context(zipfile.ZipFile(raw))
        names = tuple(
            name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")
        )
        yield Arrays(file.uri, names, archive, stream, {})


def check_dtype(dtype: np.dtype, name: str, uri: str) -> None:
    """Checks that values are numbers, texts or times.

    Raises:
        DataError: If they are Python objects, complex numbers or something else.
    """
    if dtype.hasobject:
        raise DataError(
            f"Expected plain values in {uri}. Received: Python objects, which only unpickling "
            "would read, and that runs whatever code the file holds. Save the array with a type of "
            "its own, such as array.astype(str) or array.astype(float)."
        )
    if dtype.kind not in KINDS:
        raise DataError(
            f'Expected the array "{name}" in {uri} to hold numbers, texts or times. '
            f"Received: {dtype}. Convert it."
        )


def _open_array(file: BinaryIO, uri: str) -> ArrayStream:
    try:
        with _damage_named(uri):
            version = np.lib.format.read_magic(file)
            readers = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }
            if version not in readers:
                raise ValueError(f"version {version} of the format is not known")
            shape, is_fortran, dtype = readers[version](file)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(
            f"Expected {uri} to be a NumPy file (.npy or .npz), but: {error}. "
            "Write it again with numpy.save or numpy.savez, or correct data.source.kind."
        ) from error
    if not shape:
        raise DataError(
            f"Expected an array of rows in {uri}. Received: a single value. Save an array."
        )
    if dtype.hasobject:
        check_dtype(dtype, "", uri)
    return ArrayStream(
        uri=uri, file=file, shape=shape, dtype=dtype, is_fortran=is_fortran and len(shape) > 1
    )


@contextlib.contextmanager
def _damage_named(uri: str) -> Iterator[None]:
    try:
        yield
    except (
        OSError,
        EOFError,
        KeyError,
        zlib.error,
        zipfile.BadZipFile,
        pyarrow.ArrowInvalid,
    ) as error:
        raise DataError(
            f"Expected {uri} to be a whole NumPy file, but: {error}. Fetch the file again."
        ) from error
