"""Image files in folders, one folder per class, or listed with their labels in a CSV file."""

import csv
import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from components.ingest import splits
from components.ingest.config import DataConfig
from components.ingest.errors import DataError, RowError, nearest
from components.ingest.features.config import IMAGE_FEATURE, ImageFeature
from components.ingest.sources import encoded
from components.ingest.sources.base import Reject, Row
from components.ingest.sources.config import ImageFolderSource

_BLOCK_FILES = 32


class ImageFile(NamedTuple):
    """One file of a split; `name` is relative to the source's folder."""

    name: str
    label: str


@dataclasses.dataclass(frozen=True)
class FilesBlock:
    """Some files, which are opened where the block is expanded."""

    split: str
    folder: Path
    files: tuple[ImageFile, ...]
    image: ImageFeature

    def rows(self) -> Iterator[Row | Reject]:
        """Yields the rows; the split is a hash of the file's bytes."""
        for file in self.files:
            try:
                content = (self.folder / file.name).read_bytes()
                image, look = encoded.normalise_image(content, self.image)
            except OSError as error:
                yield Reject(file.name, f"it cannot be read ({error.strerror})")
            except RowError as error:
                yield Reject(file.name, str(error))
            else:
                yield Row(file.name, {IMAGE_FEATURE: image}, file.label, content, look)


@dataclasses.dataclass(frozen=True)
class ImageFolder:
    """The files of each split, sorted by name."""

    folder: Path
    image: ImageFeature
    split_files: dict[str, list[ImageFile]]
    other_files: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """The name of the folder."""
        return f"image folder {self.folder.name}"

    @property
    def given_splits(self) -> frozenset[str]:
        """The splits that have a folder, or that the CSV file names."""
        return frozenset(self.split_files)

    @property
    def num_bytes(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for path in self.files().values())

    def files(self) -> dict[str, Path]:
        """The images, split by split, and the CSV file."""
        names = [file.name for files in self.split_files.values() for file in files]
        return {name: self.folder / name for name in [*self.other_files, *names]}

    def blocks(self) -> Iterator[FilesBlock]:
        """Yields blocks of 32 files."""
        for split, files in self.split_files.items():
            for first in range(0, len(files), _BLOCK_FILES):
                block = tuple(files[first : first + _BLOCK_FILES])
                yield FilesBlock(split, self.folder, block, self.image)


def open_folder(source: ImageFolderSource, data: DataConfig) -> ImageFolder:
    """Lists the images of a folder.

    Raises:
        DataError: If there is no such folder, it has no images, its class folders are not the
            recipe's classes, or the CSV file cannot be read.
    """
    folder = Path(source.path).expanduser()
    if not folder.is_dir():
        raise DataError(
            f"Expected data.source.path to be a folder. Received: {folder}, which is not. "
            "Correct the path in the recipe."
        )
    if source.labels_file is not None:
        split_files = _read_labels(folder, source.labels_file)
        return ImageFolder(folder, data.image_feature(), split_files, (source.labels_file,))
    split_files = {}
    for split in _given_splits(folder) or (None,):
        prefix = split or ""
        _check_class_folders(folder / prefix, data.class_names)
        split_files[split or splits.TRAIN] = _list_classes(folder, prefix)
    return ImageFolder(folder, data.image_feature(), split_files)


def list_folder(folder: Path) -> tuple[tuple[str, ...], list[ImageFile]]:
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
            f"Expected {folder} to hold one folder of images per class. Received: none. "
            "Correct data.source.path, or list the files in data.source.labels_file."
        )
    if unknown := sorted(set(found) - set(class_names)):
        raise DataError(
            f"Expected every folder in {folder} to be one of data.label.class_names. "
            f'Received: "{unknown[0]}".{nearest(unknown[0], class_names)} '
            "Add it to the recipe, or move it elsewhere."
        )


def _list_classes(folder: Path, prefix: str) -> list[ImageFile]:
    return [
        ImageFile(name, class_name)
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


def _read_labels(folder: Path, labels_file: str) -> dict[str, list[ImageFile]]:
    path = folder / labels_file
    split_files: dict[str, list[ImageFile]] = {}
    try:
        # The codec drops the mark that spreadsheets put before the first column's name.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            _check_columns(path, reader.fieldnames or [])
            for row in reader:
                split = _read_split(path, reader.line_num, row)
                split_files.setdefault(split, []).append(ImageFile(row["file"], row["label"]))
    except OSError as error:
        raise DataError(f"Expected to read {path}, but: {error.strerror}.") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"Expected {path} to be a CSV file in UTF-8, but: {error}.") from error
    if splits.TRAIN not in split_files:
        raise DataError(f"Expected {path} to list files of the train split. Received: none.")
    return {name: sorted(split_files[name]) for name in splits.SPLITS if name in split_files}


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
