"""Nearly equal recordings: softer, louder, shifted, compressed or slightly noisy copies.

Legend: N rows of the dataset, R recordings, P pairs, D numbers of a rhythm.
"""

import numpy as np

from components.data_guard import near_looks
from components.data_guard.dataset import Dataset

# Of 1,626 telephone prompts, pairs that are no copies reach 0.981, where one word ends in an "s"
# that is not heard; copies with noise of a tenth of their amplitude 0.990.
MIN_PRODUCT = 0.985


def find_near_recordings(dataset: Dataset, is_repeat_N: np.ndarray) -> np.ndarray:
    """Finds pairs of recordings that nearly equal each other; see `near_looks.find_near_looks`."""
    look = near_looks.Look(
        is_usable=lambda rows_R: near_looks.flatten(rows_R["rhythm"]).std(1) > 0,
        vectors=_unit_rhythms,
        max_distance=(2 - 2 * MIN_PRODUCT) ** 0.5,
        is_near=_is_near,
    )
    return near_looks.find_near_looks(dataset, is_repeat_N, look)


def _unit_rhythms(rows_R: np.ndarray) -> np.ndarray:
    rhythms_RD = near_looks.flatten(rows_R["rhythm"])
    return rhythms_RD / np.linalg.norm(rhythms_RD, axis=1, keepdims=True)


def _is_near(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    products_P = np.einsum("pd,pd->p", _unit_rhythms(left), _unit_rhythms(right))
    return products_P >= MIN_PRODUCT
