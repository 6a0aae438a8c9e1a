"""Checks of a dataset against its recipe, each with its cure."""

from collections.abc import Sequence

from components.ingest import splits
from components.ingest.config import DataConfig
from components.ingest.errors import DataError, EmptySplitError, RejectsError
from components.ingest.manifest import Manifest
from components.ingest.sources.base import Reject
from components.ingest.writer import rejects_sentence


def check_splits(data: DataConfig, given: frozenset[str]) -> None:
    """Checks that the recipe says how to make each split that the source does not have.

    Raises:
        DataError: If a test split is missing, or is asked for although the source has one.
    """
    share = data.splits.test_share
    if splits.TEST not in given and share is None:
        raise DataError(
            "Expected data.splits.test_share, since the source has no test split of its own. "
            f"Received: data.source.kind={data.source.kind}, splits={sorted(given)}. "
            "Set it to 0.1, for example."
        )
    if splits.TEST in given and share is not None:
        raise DataError(
            "Expected no data.splits.test_share, since the source has a test split of its own. "
            f"Received: data.splits.test_share={share}. Remove it from the recipe."
        )


def check_image_size(data: DataConfig, *, height_px: int, width_px: int, channels: int) -> None:
    """Checks the size of a source whose images all have one.

    Raises:
        DataError: If it differs from the recipe's and the recipe does not allow resizing.
    """
    image = data.image_feature()
    found = (height_px, width_px, channels)
    if found != (image.height_px, image.width_px, image.channels) and not image.resize:
        raise DataError(
            f"Expected images of {image.height_px} x {image.width_px} px with {image.channels} "
            f"channels, as data.image says. Received: {height_px} x {width_px} px with {channels} "
            "channels. "
            "Correct data.image, or set data.image.resize = true to have them fitted."
        )


def check_rejects(data: DataConfig, manifest: Manifest, rejects: Sequence[Reject]) -> None:
    """Checks that no larger share of rows was rejected than the recipe allows.

    Raises:
        RejectsError: If there was.
    """
    total = len(rejects) + sum(split.num_rows for split in manifest.splits.values())
    if len(rejects) > data.rejects.max_share * total:
        limit = f"{data.rejects.max_share:.2%} of {total}"
        raise RejectsError(rejects_sentence(rejects, limit=limit))


def check_classes(data: DataConfig, manifest: Manifest) -> None:
    """Checks that every split has examples of every class.

    Raises:
        EmptySplitError: If a split is empty or lacks a class.
    """
    for name, split in manifest.splits.items():
        cure = _split_cure(name, data)
        if split.num_rows == 0:
            raise EmptySplitError(f"Expected examples in the {name} split. Received: none. {cure}")
        missing = [label for label, count in split.class_counts.items() if count == 0]
        if missing:
            raise EmptySplitError(
                f"Expected examples of every class in the {name} split. Received: none of "
                f"{', '.join(missing)} among {split.num_rows} examples. {cure} "
                "Or take the class out of data.label.class_names."
            )


def _split_cure(name: str, data: DataConfig) -> str:
    if name == splits.TRAIN:
        return "Add examples, or lower data.splits.validation_share or test_share."
    share = data.splits.validation_share if name == splits.VALIDATION else data.splits.test_share
    if share is None:
        return "The source gives this split itself: check that the copy is whole."
    return f"Raise data.splits.{name}_share (now {share:g}), add examples, or choose another seed."
