"""Image and audio files in folders, one per class, or listed with their labels in a CSV file."""

import csv
import dataclasses
import gzip
import io
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from components.ingest import splits
from components.ingest.config import DataConfig
from components.ingest.errors import DataError, RowError, nearest
from components.ingest.features import recordings
from components.ingest.features.config import (
    AUDIO_FEATURE,
    IMAGE_FEATURE,
    AudioFeature,
    ImageFeature,
)
from components.ingest.sources import encoded, files
from components.ingest.sources.base import Reject, Row
from components.ingest.sources.config import AudioFolderSource, ImageFolderSource

_BLOCK_FILES = 32

Feature = ImageFeature | AudioFeature


class ClassFile(NamedTuple):
    """One file of a split; `name` is relative to the source's folder."""

    name: str
    label: str


@dataclasses.dataclass(frozen=True)
class FilesBlock:
    """Some files, which are opened where the block is expanded."""

    split: str
    folder: Path
    files: tuple[ClassFile, ...]
    feature: Feature

    def rows(self) -> Iterator[Row | Reject]:
        """Yields the rows; the split is a hash of the file's bytes."""
        for file in self.files:
            try:
                content = (self.folder / file.name).read_bytes()
                features, look = self._normalise(content)
            except OSError as error:
                yield Reject(file.name, f"it cannot be read ({error.strerror})")
            except RowError as error:
                yield Reject(file.name, str(error))
            else:
                yield Row(file.name, features, file.label, content, look)

    def _normalise(self, content: bytes) -> tuple[dict[str, bytes], bytes]:
        if isinstance(self.feature, ImageFeature):
            image, look = encoded.normalise_image(content, self.feature)
            return {IMAGE_FEATURE: image}, look
        return {AUDIO_FEATURE: recordings.normalise_recording(content, self.feature)}, b""


class Paths(Mapping[str, Path]):
    """The paths of files by their names, made when they are asked for.

    A million of them at once would take 300 MB.
    """

    def __init__(self, folder: Path, names: Sequence[str]):
        self._folder, self._names = folder, names

    def __getitem__(self, name: str) -> Path:
        return self._folder / name

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclasses.dataclass(frozen=True)
class ClassFolder:
    """The files of each split, sorted by name."""

    folder: Path
    feature: Feature
    split_files: dict[str, list[ClassFile]]
    other_files: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """The name of the folder."""
        kind = "image" if isinstance(self.feature, ImageFeature) else "audio"
        return f"{kind} folder {self.folder.name}"

    @property
    def given_splits(self) -> frozenset[str]:
        """The splits that have a folder, or that the CSV file names."""
        return frozenset(self.split_files)

    @property
    def num_bytes(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for path in self.files().values())

    def files(self) -> "Paths":
        """The files, split by split, and the CSV file."""
        names = [file.name for found in self.split_files.values() for file in found]
        return Paths(self.folder, (*self.other_files, *names))

    def blocks(self) -> Iterator[FilesBlock]:
        """Yields blocks of 32 files."""
        for split, found in self.split_files.items():
            for first in range(0, len(found), _BLOCK_FILES):
                block = tuple(found[first : first + _BLOCK_FILES])
                yield FilesBlock(split, self.folder, block, self.feature)


def open_folder(source: ImageFolderSource | AudioFolderSource, data: DataConfig) -> ClassFolder:
    """Lists the files of a folder.

    Raises:
        DataError: If there is no such folder, it has no files, its class folders are not the
            recipe's classes, or the CSV file cannot be read.
    """
    is_audio = isinstance(source, AudioFolderSource)
    feature = data.audio_feature() if is_audio else data.image_feature()
    folder = files.in_home(source.path)
    if not folder.is_dir():
        raise DataError(
            f"Expected data.source.path to be a folder. Received: {folder}, which is not. "
            "Correct the path in the recipe."
        )
    if source.labels_file is not None:
        split_files = _read_labels(folder, source.labels_file)
        return ClassFolder(folder, feature, split_files, (source.labels_file,))
    split_files = {}
    for split in _given_splits(folder) or (None,):
        prefix = split or ""
        _check_class_folders(folder / prefix, data.class_names)
        split_files[split or splits.TRAIN] = _list_classes(folder, prefix)
    return ClassFolder(folder, feature, split_files)


def list_folder(folder: Path) -> tuple[tuple[str, ...], list[ClassFile]]:
    """Returns the splits that a folder of class folders gives, and the files of its train split.

    Raises:
        DataError: If there is no such folder.
    """
    if not folder.is_dir():
        raise DataError(f"Expected a folder of images. Received: {folder}, which is no folder.")
    given = _given_splits(folder)
    return given, _list_classes(folder, splits.TRAIN if given else "")


def _given_splits(folder: Path) -> tuple[str, ...]:
    """Returns the splits that have a folder, or nothing if the folders are classes."""
    names = set(_subfolders(folder))
    if splits.TRAIN in names and names <= set(splits.SPLITS):
        return tuple(name for name in splits.SPLITS if name in names)
    return ()


def _check_class_folders(folder: Path, class_names: Sequence[str]) -> None:
    found = _subfolders(folder)
    if not found:
        raise DataError(
            f"Expected {folder} to hold one folder of files per class. Received: none. "
            "Correct data.source.path, or list the files in data.source.labels_file."
        )
    if unknown := sorted(set(found) - set(class_names)):
        raise DataError(
            f"Expected every folder in {folder} to be one of data.label.class_names. "
            f'Received: "{unknown[0]}".{nearest(unknown[0], class_names)} '
            "Add it to the recipe, or move it elsewhere."
        )


def _list_classes(folder: Path, prefix: str) -> list[ClassFile]:
    return [
        ClassFile(name, class_name)
        for class_name in _subfolders(folder / prefix)
        for name in _walk(folder, str(Path(prefix, class_name)))
    ]


def _subfolders(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(
            entry.name for entry in entries if entry.is_dir() and not _is_hidden(entry.name)
        )


def _walk(folder: Path, relative: str) -> Iterator[str]:
    """Yields the names of all files below a folder, sorted, hidden ones left out."""
    with os.scandir(folder / relative) as entries:
        found = sorted((entry.name, entry.is_dir()) for entry in entries)
    for name, is_folder in found:
        path = str(Path(relative, name))
        if _is_hidden(name):
            continue
        if is_folder:
            yield from _walk(folder, path)
        else:
            yield path


def _is_hidden(name: str) -> bool:
    # Thumbs.db is what Windows leaves behind in folders of images.
    return name.startswith(".") or name == "Thumbs.db"


def _read_labels(folder: Path, labels_file: str) -> dict[str, list[ClassFile]]:
    path = folder / labels_file
    split_files: dict[str, list[ClassFile]] = {}
    lines: dict[str, int] = {}
    try:
        with path.open("rb") as raw, _text(raw) as file:
            reader = csv.DictReader(file, strict=True)
            _check_columns(path, reader.fieldnames or [])
            for row in reader:
                split = _read_split(path, reader.line_num, row)
                if (line := lines.setdefault(row["file"], reader.line_num)) != reader.line_num:
                    raise DataError(
                        f"Expected each file once in {path}. Received: {row['file']} in line "
                        f"{line} and again in line {reader.line_num}. Remove one of them."
                    )
                split_files.setdefault(split, []).append(ClassFile(row["file"], row["label"]))
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(
            f"Expected to read {path}, but: {reason}. Correct data.source.labels_file, or put the "
            "file there."
        ) from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"Expected {path} to be a CSV file in UTF-8, but: {error}.") from error
    if splits.TRAIN not in split_files:
        raise DataError(f"Expected {path} to list files of the train split. Received: none.")
    return {name: sorted(split_files[name]) for name in splits.SPLITS if name in split_files}


def _text(raw: BinaryIO) -> io.TextIOWrapper:
    """Opens a file of text, gzip undone, and without the mark that spreadsheets begin it with."""
    is_gzip = raw.read(len(files.GZIP_MAGIC)) == files.GZIP_MAGIC
    raw.seek(0)
    plain = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if is_gzip else raw
    return io.TextIOWrapper(plain, encoding="utf-8-sig", newline="")


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    if missing := [name for name in ("file", "label") if name not in columns]:
        raise DataError(
            f"Expected {path} to have the columns file and label. Received: {list(columns)}, "
            f"without {' and '.join(missing)}.{nearest(missing[0], columns)}"
        )


def _read_split(path: Path, line: int, row: dict[str, str]) -> str:
    if None in row or None in row.values():
        raise DataError(
            f"Expected as many values as columns in {path}, line {line}. "
            f"Received: {list(row.values())}. Quote values that hold commas."
        )
    split = row.get("split", splits.TRAIN)
    if split not in splits.SPLITS:
        raise DataError(
            f"Expected the split in {path}, line {line}, to be one of {', '.join(splits.SPLITS)}. "
            f'Received: "{split}".{nearest(split, splits.SPLITS)}'
        )
    return split
