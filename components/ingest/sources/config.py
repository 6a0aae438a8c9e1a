"""The sources of a recipe: where its examples lie and in which form."""

import re
from typing import Annotated, Any, Literal, Self

import pydantic

from models.base_config import StrictConfig

_URI = re.compile(r"(gs|s3|file|package)://[^/]*/?.")
Paths = Annotated[tuple[str, ...], pydantic.Field(min_length=1)]


class TfdsSource(StrictConfig):
    """A TensorFlow Datasets name, had from a prepared folder, the network or a Debian package."""

    kind: Literal["tfds"]
    name: str
    data_dir: str | None = None


class SklearnSource(StrictConfig):
    """A dataset that the scikit-learn package itself ships."""

    kind: Literal["sklearn"]
    name: Literal["digits"]


class FolderSource(StrictConfig):
    """Files in folders."""

    # From the root or from the home folder, so that it means the same wherever the run starts.
    path: str

    @pydantic.field_validator("path")
    @classmethod
    def _path_is_absolute(cls, path: str) -> str:
        return _absolute(path, uris=False)


class ImageFolderSource(FolderSource):
    """A folder of images: `<class>/<file>`, or `<split>/<class>/<file>` with given splits."""

    kind: Literal["image_folder"]
    # A CSV file in the folder with the columns "file", "label" and, if the splits are given,
    # "split"; without it a file's class is the name of its folder.
    labels_file: str | None = None


class AudioFolderSource(FolderSource):
    """A folder of recordings (WAV, FLAC, Ogg, MP3), laid out as a folder of images is."""

    kind: Literal["audio_folder"]
    labels_file: str | None = None


class FilesSource(StrictConfig):
    """Files that each hold many rows.

    A path begins with /, ~, gs://, s3://, file://, or package:// and the name of an installed
    package, and may have the wildcards * ? [] in its last parts. Where validation or test files are
    named, these splits are as given.
    """

    path: Paths
    validation_path: Paths | None = None
    test_path: Paths | None = None

    @pydantic.field_validator("path", "validation_path", "test_path", mode="before")
    @classmethod
    def _one_path_is_a_list_of_one(cls, paths: Any) -> Any:
        if isinstance(paths, str):
            return (paths,)
        return tuple(paths) if isinstance(paths, list) else paths

    @pydantic.field_validator("path", "validation_path", "test_path")
    @classmethod
    def _paths_are_absolute(cls, paths: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return paths and tuple(_absolute(path, uris=True) for path in paths)

    def split_paths(self) -> dict[str, tuple[str, ...]]:
        """Returns the paths of each split that the source gives; "train" is always one."""
        paths = {"train": self.path, "validation": self.validation_path, "test": self.test_path}
        return {split: found for split, found in paths.items() if found}


class CsvSource(FilesSource):
    """CSV files with a row of column names, plain or gzip-compressed (.gz)."""

    kind: Literal["csv"]
    delimiter: Annotated[str, pydantic.Field(min_length=1, max_length=1)] = ","
    # A name that Python knows, such as "latin-1" or "utf-16". A byte order mark is skipped.
    encoding: str = "utf-8"

    @pydantic.model_validator(mode="after")
    def _delimiter_divides(self) -> Self:
        if self.delimiter in '"\n\r' or not self.delimiter.isascii():
            raise ValueError(
                "delimiter must be an ASCII character other than a quote or a line's end. "
                f"Received: delimiter = {self.delimiter!r}."
            )
        return self


class ParquetSource(FilesSource):
    """Parquet, Arrow or Feather files, told apart by their first bytes."""

    kind: Literal["parquet"]


class JsonlSource(FilesSource):
    """One JSON object to a line, plain or gzip-compressed (.gz)."""

    kind: Literal["jsonl"]


Source = Annotated[
    TfdsSource
    | SklearnSource
    | ImageFolderSource
    | AudioFolderSource
    | CsvSource
    | ParquetSource
    | JsonlSource,
    pydantic.Field(discriminator="kind"),
]


def _absolute(path: str, *, uris: bool) -> str:
    if path.startswith(("/", "~")) or (uris and _URI.match(path)):
        return path
    places = "/, ~, gs://, s3://, file:// or package://" if uris else "/ or ~"
    raise ValueError(
        f"path must begin with {places}, since the run may start in any folder. "
        f'Received: "{path}". Write it in full, such as "~/data".'
    )
