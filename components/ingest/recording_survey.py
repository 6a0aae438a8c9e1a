"""A look at a folder of recordings before there is a recipe: classes, rates, lengths, a seed."""

import collections
import dataclasses
from pathlib import Path

import numpy as np
import soundfile

from components.ingest import splits, survey
from components.ingest.errors import DataError
from components.ingest.sources import class_folder

_SUFFIXES = frozenset({".wav", ".flac", ".ogg", ".oga", ".mp3"})
_NUM_LOOKED_AT = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordingsSurvey:
    """What a folder of recordings holds; rates and lengths are of up to 100 files per class.

    Attributes:
        path: The folder.
        class_counts: Class -> recordings of the train split.
        sample_rate_hz: The most frequent rate.
        has_one_rate: True if no other was seen.
        seconds_N: The lengths, sorted.
        has_test_split: True if the folder has a test split of its own.
        seed: One with which every split has an example of every class.
    """

    path: Path
    class_counts: dict[str, int]
    sample_rate_hz: int
    has_one_rate: bool
    seconds_N: np.ndarray
    has_test_split: bool
    seed: int

    @property
    def num_recordings(self) -> int:
        """Recordings over all classes of the train split."""
        return sum(self.class_counts.values())

    @property
    def majority_share(self) -> float:
        """The accuracy of always answering with the most frequent class."""
        return max(self.class_counts.values()) / self.num_recordings


def holds_recordings(folder: Path) -> bool:
    """Returns whether most of a folder's first files are named as recordings are.

    Raises:
        DataError: If there is no such folder.
    """
    _, files = class_folder.list_folder(folder)
    found = [Path(file.name).suffix.lower() in _SUFFIXES for file in files[:_NUM_LOOKED_AT]]
    return sum(found) * 2 > len(found)


def survey_recordings(
    folder: Path, *, validation_share: float, test_share: float
) -> RecordingsSurvey:
    """Looks at the recordings of `folder`, which holds a folder per class, or per split and class.

    Args:
        folder: The folder.
        validation_share: Share of the validation split, which the seed is chosen for.
        test_share: Share of the test split, used unless the folder has one.

    Raises:
        DataError: If there are no two classes, a recording cannot be read, or a class is too small
            for every split to have an example of it.
    """
    given, classes = survey.list_classes(folder)
    shares = survey.shares_to_make(given, validation_share=validation_share, test_share=test_share)
    found = [_look(folder / name) for names in classes.values() for name in survey.sample(names)]
    rates = collections.Counter(rate_hz for rate_hz, _ in found)
    return RecordingsSurvey(
        path=folder,
        class_counts={name: len(names) for name, names in classes.items()},
        sample_rate_hz=rates.most_common(1)[0][0],
        has_one_rate=len(rates) == 1,
        seconds_N=np.sort([seconds for _, seconds in found]),
        has_test_split=splits.TEST in given,
        seed=survey.choose_seed(folder, classes, shares),
    )


def _look(path: Path) -> tuple[int, float]:
    """Returns rate and length of a file, from its header."""
    try:
        info = soundfile.info(str(path))
    except (soundfile.SoundFileError, RuntimeError) as error:
        raise DataError(
            f"Expected {path} to be a recording. Received: {error}. "
            "Mend it, or take it out of the folder."
        ) from error
    return info.samplerate, info.frames / info.samplerate
