"""Finds the data a recipe names: what is on this machine first, the network only then."""

from pathlib import Path

from components.ingest import checks
from components.ingest.config import DataConfig, SklearnSource
from components.ingest.sources import digits, tfds
from components.ingest.sources.base import Source


def find_local(data: DataConfig, cache_dir: Path) -> Source | None:
    """Returns the source if its data is on this machine, without touching the network.

    Raises:
        DataError: If the source cannot exist or contradicts the recipe.
    """
    if isinstance(data.source, SklearnSource):
        found = digits.find_digits()
        height_px, width_px = found.image_shape()
        checks.check_image_size(data, height_px=height_px, width_px=width_px, channels=1)
        return found
    return tfds.find_local(data.source, data, cache_dir)


def open_source(data: DataConfig, cache_dir: Path) -> Source:
    """Returns the source, fetching its data into `cache_dir` if this machine does not have it.

    Raises:
        DataError: If the source is unknown, contradicts the recipe, or cannot be fetched.
    """
    source = data.source
    if isinstance(source, SklearnSource):
        found = digits.find_digits()
        height_px, width_px = found.image_shape()
        checks.check_image_size(data, height_px=height_px, width_px=width_px, channels=1)
        return found
    return tfds.find_local(source, data, cache_dir) or tfds.fetch(source, data, cache_dir)
