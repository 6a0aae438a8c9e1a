"""The sources of a recipe: where its examples lie and in which form."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import pydantic

from components.ingest.sources import span_patterns
from models.base_config import StrictConfig

_URI = re.compile(r"[a-z][a-z0-9+.-]*://[^/]*/?.")
_WEB = re.compile(r"(https?|ftp)://")


def _absolute(path: str, *, uris: bool) -> str:
    is_uri = _URI.match(path) and not _WEB.match(path)
    if path.startswith(("/", "~")) or (uris and is_uri):
        return path
    places = "/, ~, gs://, s3://, hdfs://, file:// or package://" if uris else "/ or ~"
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


class SpanRange(StrictConfig):
    """Which spans are read; first and last are numbers, or days such as "2026-01-31"."""

    first: int | str | None = None
    last: int | str | None = None
    # Of these, the newest ones.
    newest: Annotated[int, pydantic.Field(gt=0)] | None = None
    # Without this many of the newest, such as a day that is still being written.
    skip_newest: Annotated[int, pydantic.Field(ge=0)] = 0

    @pydantic.field_validator("first", "last")
    @classmethod
    def _is_a_number_or_a_day(cls, span: int | str | None) -> int | str | None:
        try:
            span_patterns.number_of(span or 0)
        except ValueError as error:
            raise ValueError(
                'first and last must be numbers of spans, or days such as "2026-01-31". '
                f"Received: {span!r}."
            ) from error
        return span

    def choose(self, versions: Mapping[int, int]) -> set[span_patterns.Span]:
        """Returns the spans to read among those that there are, by their newest versions."""
        return span_patterns.chosen(
            versions,
            newest=self.newest,
            skip_newest=self.skip_newest,
            first=None if self.first is None else span_patterns.number_of(self.first),
            last=None if self.last is None else span_patterns.number_of(self.last),
        )


class FilesSource(StrictConfig):
    """Files that each hold many rows.

    A path begins with /, ~, gs://, s3://, the scheme of another file system, file://, or package://
    and the name of an installed package, and may have the wildcards * ? [] in its last parts. Where
    validation or test files are named, these splits are as given. Paths with {SPAN}, or {YYYY},
    {MM} and {DD}, and with {VERSION}, name data that arrives in parts, of which `spans` are read.
    """

    path: Paths
    validation_path: Paths | None = None
    test_path: Paths | None = None
    spans: SpanRange | None = None

    @pydantic.model_validator(mode="after")
    def _spans_have_placeholders(self) -> Self:
        named = [*self.split_paths().values(), *self.label_paths().values()]
        paths = [path for found in named for path in found]
        for path in paths:
            if fault := span_patterns.check(path):
                raise ValueError(f"path must be one in which {fault}. Received: {path}.")
        has_specs = any(span_patterns.first_spec(path) is not None for path in self.path)
        if has_specs and self.spans is None:
            raise ValueError(
                "A path with {SPAN} or {YYYY} needs spans, which says what is read. Received: no "
                "spans. Add spans = { newest = 1 } for the newest one, or spans = { first = 0 } "
                "for all."
            )
        is_asked = any(span_patterns.first_spec(path) is not None for path in paths)
        if not has_specs and (is_asked or self.spans is not None):
            raise ValueError(
                "spans and their placeholders need a path with {SPAN}, or with {YYYY}, {MM} and "
                f"{{DD}}. Received: path = {', '.join(self.path)}. Write them there too."
            )
        return self

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
