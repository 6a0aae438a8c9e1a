"""Nearly equal windows of series: rounded, rescaled or slightly noisy copies of each other.

Two windows are nearly equal if their pasts have a correlation of about 0.999 and the level and the
spread of each channel differ by at most 5 % of its spread.

Legend: N rows of the dataset, R windows, P pairs, C channels.
"""

import numpy as np

from components.data_guard import near_looks
from components.data_guard.dataset import Dataset

MIN_CORRELATION = 0.999

_TOLERANCE = 0.05
_MAX_DISTANCE = (2 - 2 * MIN_CORRELATION) ** 0.5


def find_near_windows(dataset: Dataset, is_repeat_N: np.ndarray) -> np.ndarray:
    """Finds pairs of windows that nearly equal each other; see `near_looks.find_near_looks`."""
    look = near_looks.Look(
        is_usable=lambda rows_R: np.nan_to_num(rows_R["spread"]).max(1) > 0,
        vectors=lambda rows_R: rows_R["shape"],
        max_distance=_MAX_DISTANCE,
        is_near=_is_near,
    )
    return near_looks.find_near_looks(dataset, is_repeat_N, look)


def _is_near(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    distances_P = np.linalg.norm(left["shape"] - right["shape"], axis=1)
    limits_PC = _TOLERANCE * left["spread"]
    is_close = [
        (np.abs(left[name] - right[name]) <= limits_PC) | (np.isnan(left[name] + right[name]))
        for name in ("level", "spread")
    ]
    has_same_gaps = np.isnan(left["level"]) == np.isnan(right["level"])
    return (distances_P <= _MAX_DISTANCE) & (np.logical_and(*is_close) & has_same_gaps).all(1)
