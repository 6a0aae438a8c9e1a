"""A look at images before there is a recipe: classes, sizes, colours, and a seed."""

import dataclasses
import io
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import PIL.Image

from components.ingest import splits
from components.ingest.errors import DataError
from components.ingest.sources import class_folder

_SAMPLE_PER_CLASS = 100
_GREY_MODES = frozenset({"1", "L", "I;16", "I"})
# A class above this has examples in every split whatever the seed is, but for one case in 10,000.
_ALWAYS_ENOUGH = 100
_MAX_SEEDS = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageSurvey:
    """What a folder or a file of images holds; sizes and colours are those of some of them."""

    path: Path
    class_counts: dict[str, int]
    median_height_px: int
    median_width_px: int
    has_one_size: bool
    is_grey: bool
    has_test_split: bool
    seed: int

    @property
    def num_images(self) -> int:
        """Images over all classes of the train split."""
        return sum(self.class_counts.values())

    @property
    def majority_share(self) -> float:
        """The accuracy of always answering with the most frequent class."""
        return max(self.class_counts.values()) / self.num_images


def survey_folder(folder: Path, *, validation_share: float, test_share: float) -> ImageSurvey:
    """Looks at the images of `folder`, which holds a folder per class, or per split and class.

    Args:
        folder: The folder.
        validation_share: Share of the validation split, which the seed is chosen for.
        test_share: Share of the test split, used unless the folder has one.

    Raises:
        DataError: If there are no two classes, an image cannot be read, or a class is too small for
            every split to have an example of it.
    """
    given, classes = list_classes(folder)
    sizes, modes = _look(folder, classes)
    shares = shares_to_make(given, validation_share=validation_share, test_share=test_share)
    return ImageSurvey(
        path=folder,
        class_counts={name: len(found) for name, found in classes.items()},
        has_test_split=splits.TEST in given,
        seed=choose_seed(folder, classes, shares),
        **_sizes_and_colours(sizes, modes),
    )


def survey_contents(
    path: Path, images: Sequence[bytes], class_counts: dict[str, int], *, has_test_split: bool
) -> ImageSurvey:
    """Looks at the first images of a file of rows.

    Args:
        path: The file.
        images: Whole image files.
        class_counts: The rows of each class in the file.
        has_test_split: Whether the file has a test split of its own.

    Raises:
        DataError: If an image cannot be read.
    """
    sizes, modes = [], []
    for number, image in enumerate(images):
        try:
            with PIL.Image.open(io.BytesIO(image)) as picture:
                sizes.append((picture.height, picture.width))
                modes.append(picture.mode)
        except OSError as error:
            raise DataError(
                f"Expected row {number} of {path} to hold an image. Received: {error}. Mend it, or "
                "write the recipe by hand."
            ) from error
    return ImageSurvey(
        path=path,
        class_counts=class_counts,
        has_test_split=has_test_split,
        seed=0,
        **_sizes_and_colours(sizes, modes),
    )


def _sizes_and_colours(sizes: Sequence[tuple[int, int]], modes: Sequence[str]) -> dict[str, Any]:
    return {
        "median_height_px": round(statistics.median(height for height, _ in sizes)),
        "median_width_px": round(statistics.median(width for _, width in sizes)),
        "has_one_size": len(set(sizes)) == 1,
        "is_grey": set(modes) <= _GREY_MODES,
    }


def list_classes(folder: Path) -> tuple[tuple[str, ...], dict[str, list[str]]]:
    """Returns the splits that a folder gives, and class -> names of its files of the train split.

    Raises:
        DataError: If there is no such folder, or no two classes.
    """
    given, files = class_folder.list_folder(folder)
    classes: dict[str, list[str]] = {}
    for file in files:
        classes.setdefault(file.label, []).append(file.name)
    if len(classes) < 2:
        raise DataError(
            f"Expected folders of images or recordings for at least two classes in {folder}. "
            f"Received: {sorted(classes) or 'none'}. Make one folder per class; of rows, name the "
            "file."
        )
    return given, classes


def shares_to_make(
    given: Sequence[str], *, validation_share: float, test_share: float
) -> dict[str, float]:
    """Returns the share of each split that is cut out of the train split."""
    shares = {splits.VALIDATION: validation_share, splits.TEST: test_share}
    return {name: share for name, share in shares.items() if name not in given}


def sample(names: Sequence[str]) -> Sequence[str]:
    """Returns up to 100 names, evenly."""
    return names[:: max(1, -(-len(names) // _SAMPLE_PER_CLASS))]


def _look(folder: Path, classes: dict[str, list[str]]) -> tuple[list[tuple[int, int]], list[str]]:
    sizes, modes = [], []
    for names in classes.values():
        for name in sample(names):
            try:
                with PIL.Image.open(folder / name) as picture:
                    sizes.append((picture.height, picture.width))
                    modes.append(picture.mode)
            except OSError as error:
                raise DataError(
                    f"Expected {folder / name} to be an image. Received: {error}. "
                    "Mend it, or take it out of the folder."
                ) from error
    return sizes, modes


def choose_seed(folder: Path, classes: dict[str, list[str]], shares: dict[str, float]) -> int:
    """Returns the first seed with which every split has an example of every class.

    Raises:
        DataError: If a class is too small for that.
    """
    small = {name: names for name, names in classes.items() if len(names) <= _ALWAYS_ENOUGH}
    contents = {name: [(folder / file).read_bytes() for file in small[name]] for name in small}
    for seed in range(_MAX_SEEDS):
        if all(_covers(found, seed, shares) for found in contents.values()):
            return seed
    smallest = min(classes, key=lambda name: len(classes[name]))
    raise DataError(
        f"Expected every class to have enough files for {len(shares) + 1} splits. "
        f'Received: {len(classes[smallest])} of "{smallest}". '
        "Add files, or move the folder elsewhere."
    )


def _covers(contents: Sequence[bytes], seed: int, shares: dict[str, float]) -> bool:
    found = {splits.assign_split(content, seed=seed, shares=shares) for content in contents}
    return len(found) == len(shares) + 1
