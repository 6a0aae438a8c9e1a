"""The sources of a recipe: where its examples lie and in which form."""

import re
from typing import Annotated, Any, Literal, Self

import pydantic

from models.base_config import StrictConfig

_URI = re.compile(r"(gs|s3|file|package)://[^/]*/?.")


def _absolute(path: str, *, uris: bool) -> str:
    if path.startswith(("/", "~")) or (uris and _URI.match(path)):
        return path
    places = "/, ~, gs://, s3://, file:// or package://" if uris else "/ or ~"
    raise ValueError(
        f"path must begin with {places}, since the run may start in any folder. "
        f'Received: "{path}". Write it in full, such as "~/data".'
    )


def _as_tuple(paths: Any) -> Any:
    if isinstance(paths, str):
        return (paths,)
    return tuple(paths) if isinstance(paths, list) else paths


def _all_absolute(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_absolute(path, uris=True) for path in paths)


# One path or several.
Paths = Annotated[
    tuple[str, ...],
    pydantic.Field(min_length=1),
    pydantic.BeforeValidator(_as_tuple),
    pydantic.AfterValidator(_all_absolute),
]


class TfdsSource(StrictConfig):
    """A TensorFlow Datasets name, had from a prepared folder, the network or a Debian package."""

    kind: Literal["tfds"]
    name: str
    # A package that defines the dataset, if TensorFlow Datasets itself does not.
    package: str | None = None
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

    def label_paths(self) -> dict[str, tuple[str, ...]]:
        """Returns the paths of the labels of each split, if they lie in files of their own."""
        return {}

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


class TfrecordSource(FilesSource):
    """TFRecord files of tf.Examples, plain or gzip-compressed, whatever their names."""

    kind: Literal["tfrecord"]


class NumpySource(FilesSource):
    """NumPy files: the arrays of .npz files by name, or the one array of .npy files.

    The labels may lie in files of their own, as many as the others and in the same order.
    """

    kind: Literal["numpy"]
    labels_path: Paths | None = None
    validation_labels_path: Paths | None = None
    test_labels_path: Paths | None = None

    def label_paths(self) -> dict[str, tuple[str, ...]]:
        """Returns the paths of the labels of each split, if they lie in files of their own."""
        paths = {
            "train": self.labels_path,
            "validation": self.validation_labels_path,
            "test": self.test_labels_path,
        }
        return {split: found for split, found in paths.items() if found}

    @pydantic.model_validator(mode="after")
    def _labels_come_with_every_split(self) -> Self:
        labelled, splits = self.label_paths().keys(), self.split_paths().keys()
        if labelled and labelled != splits:
            raise ValueError(
                "Files of labels must be named for every split that is named. Received: labels of "
                f"{', '.join(labelled)}; splits {', '.join(splits)}. Name the labels of each, or "
                "none."
            )
        return self


Source = Annotated[
    TfdsSource
    | SklearnSource
    | ImageFolderSource
    | AudioFolderSource
    | CsvSource
    | ParquetSource
    | JsonlSource
    | TfrecordSource
    | NumpySource,
    pydantic.Field(discriminator="kind"),
]
