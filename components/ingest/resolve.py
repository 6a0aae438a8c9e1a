"""Finds the data a recipe names: what is on this machine first, the network only then."""

from pathlib import Path

from components.ingest import checks
from components.ingest.config import DataConfig
from components.ingest.sources import class_folder, digits, file_source, series, tfds
from components.ingest.sources.base import Source
from components.ingest.sources.config import (
    AudioFolderSource,
    FilesSource,
    ImageFolderSource,
    SklearnSource,
    TfdsSource,
)


def find_local(data: DataConfig, cache_dir: Path) -> Source | None:
    """Returns the source if its data is on this machine, without touching the network.

    Raises:
        DataError: If the source cannot exist or contradicts the recipe.
    """
    if isinstance(data.source, TfdsSource):
        return tfds.find_local(data.source, data, cache_dir)
    return _open_files(data.source, data)


def open_source(data: DataConfig, cache_dir: Path) -> Source:
    """Returns the source, fetching its data into `cache_dir` if this machine does not have it.

    Raises:
        DataError: If the source is unknown, contradicts the recipe, or cannot be fetched.
    """
    if isinstance(data.source, TfdsSource):
        found = tfds.find_local(data.source, data, cache_dir)
        return found or tfds.fetch(data.source, data, cache_dir)
    return _open_files(data.source, data)


def _open_files(
    source: SklearnSource | ImageFolderSource | AudioFolderSource | FilesSource, data: DataConfig
) -> Source:
    """Returns a source that can only be where the recipe says, which no fetching can mend.

    Raises:
        DataError: If it is not there, or contradicts the recipe.
    """
    if isinstance(source, FilesSource):
        found = file_source.open_files(source, data)
        return series.open_series(found, data) if data.series else found
    if isinstance(source, SklearnSource):
        own = digits.find_digits()
        height_px, width_px = own.image_shape()
        checks.check_image_size(data, height_px=height_px, width_px=width_px, channels=1)
        return own
    return class_folder.open_folder(source, data)
