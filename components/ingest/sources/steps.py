"""The steps of a series: how far apart its times are, and where some are missing.

Legend: T steps.
"""

import itertools

import numpy as np

from components.ingest.errors import DataError
from components.ingest.sources.base import Reject


def cut(name: str, times_T: np.ndarray) -> tuple[list[slice], list[Reject]]:
    """Returns the runs of steps that follow each other, and a reject for each gap between them.

    Args:
        name: The series' name, for messages; empty if there is only one.
        times_T: Its times in seconds, sorted.

    Raises:
        DataError: If a time comes twice, or the times are not multiples of one step apart.
    """
    numbers_T = step_numbers(times_T)
    distances = np.diff(numbers_T)
    label = f'the series "{name}"' if name else "the series"
    if (distances == 0).any():
        twice = np.datetime64(int(times_T[np.argmin(distances)]), "s")
        raise DataError(
            f"Expected one row for each time of {label}. Received: two or more at {twice}. "
            "Remove the repeated rows, or name the column that tells the series apart in "
            "data.series.series."
        )
    if not len(distances):
        return [slice(0, len(times_T))], []
    step = usual_distance(distances)
    if odd := np.flatnonzero(distances % step).tolist():
        before, after = (np.datetime64(int(times_T[odd[0] + extra]), "s") for extra in (0, 1))
        raise DataError(
            f"Expected the times of {label} to be regular. Received: most are {step} "
            f"{'months' if _are_months(times_T) else 's'} apart, but {after} follows {before}. "
            "Bring the series to regular steps, for example with pandas' resample."
        )
    gaps = np.flatnonzero(distances > step)
    edges = [0, *(gaps + 1).tolist(), len(times_T)]
    runs = [slice(first, last) for first, last in itertools.pairwise(edges)]
    rejects = [
        Reject(
            f"{name}@{np.datetime64(int(times_T[gap + 1]), 's')}",
            f"steps missing before it: {distances[gap] // step - 1}",
        )
        for gap in gaps.tolist()
    ]
    return runs, rejects


def step_numbers(times_T: np.ndarray) -> np.ndarray:
    """Returns times as whole numbers that are regular where the steps are.

    Times that all begin a month are counted in months, others in seconds.
    """
    if _are_months(times_T):
        return times_T.astype("M8[s]").astype("M8[M]").astype(np.int64)
    return times_T


def usual_distance(distances: np.ndarray) -> int:
    """Returns the most frequent of the distances between steps, which are above 0."""
    values, counts = np.unique(distances, return_counts=True)
    return int(values[np.argmax(counts)])


def _are_months(times_T: np.ndarray) -> bool:
    moments_T = times_T.astype("M8[s]")
    return bool((moments_T == moments_T.astype("M8[M]")).all())
