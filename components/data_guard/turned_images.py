"""Images that are mirrored or turned copies of each other, by quarters of a turn.

Legend: R images, P pairs, D pixels.
"""

import numpy as np

from components.data_guard import near, near_images, near_looks
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from components.data_guard.duplicates import Copies, examples
from components.data_guard.findings import NEVER, Finding, are, counted

# Quarter turns after which an image is mirrored or not; the first leaves it as it is.
_TURNS = [(quarters, is_mirrored) for is_mirrored in (False, True) for quarters in range(4)]


def find_turned_leaks(
    dataset: Dataset, config: DataGuardConfig, copies: Copies, near_pairs_P2: np.ndarray
) -> list[Finding]:
    """Finds images of validation and test that are turned copies of one in an earlier split.

    Nothing is looked for unless the recipe sets a limit, since it takes much longer than all else.
    """
    if config.max_turned_leak_share >= NEVER:
        return []
    pairs_P2 = find_turned_pairs(dataset, copies, near_pairs_P2)
    leaks_P2 = near.leaking_pairs(dataset, pairs_P2)
    if not len(leaks_P2):
        return []
    return [
        Finding(
            name="turned_leaks",
            amount=len(leaks_P2) / (dataset.num_rows - dataset.num_train()),
            limit=config.max_turned_leak_share,
            sentence=f"{counted(len(leaks_P2), dataset.thing)} of validation and test "
            f"{are(len(leaks_P2))} nearly equal to one of an earlier split, mirrored or turned.",
            examples=examples(dataset, leaks_P2),
            cure="If training mirrors or turns images, it has seen them: take them out of a split.",
        )
    ]


def find_turned_pairs(dataset: Dataset, copies: Copies, near_pairs_P2: np.ndarray) -> np.ndarray:
    """Finds pairs of images of which one nearly equals the other one mirrored or turned.

    Args:
        dataset: All rows.
        copies: Exact copies, of which one stands for all.
        near_pairs_P2: Pairs that nearly equal each other as they are; they are left out.

    Returns:
        int64 array (P, 2) of row numbers, the lower first, sorted.
    """
    look = near_looks.Look(
        is_usable=near_images.has_contrast,
        vectors=lambda rows_R: _mean_turn(near_images.halved_units(rows_R)),
        max_distance=(2 - 2 * near_images.MIN_PRODUCT) ** 0.5,
        is_near=_is_near_when_turned,
    )
    pairs_P2 = near_looks.find_near_looks(dataset, copies.is_repeat(dataset.num_rows), look)
    known = {tuple(pair) for pair in near_pairs_P2.tolist()}
    is_new = [tuple(pair) not in known for pair in pairs_P2.tolist()]
    return pairs_P2[np.array(is_new, bool)]


def _mean_turn(vectors_RD: np.ndarray) -> np.ndarray:
    """Returns the mean of an image's turns, which is the same of each of them.

    It is a projection, which shortens distances, or keeps them.
    """
    side = round(vectors_RD.shape[1] ** 0.5)
    images = vectors_RD.reshape(-1, side, side)
    return near_looks.flatten(np.mean([_turn(images, *turn) for turn in _TURNS], axis=0))


def _turn(images: np.ndarray, quarters: int, is_mirrored: bool) -> np.ndarray:
    """Turns images (R, height, width, ...), all of them alike."""
    turned = np.rot90(images, quarters, axes=(1, 2))
    return turned[:, :, ::-1] if is_mirrored else turned


def _is_near_when_turned(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    is_near = np.zeros(len(left), bool)
    for turn in _TURNS[1:]:
        turned = right.copy()
        for name in ("grey", "colour"):
            turned[name] = _turn(right[name], *turn)
        is_near |= near_images.is_near(left, turned)
    return is_near
