"""Nearly equal images: re-encoded, resized or slightly brightened copies of each other.

Two images are nearly equal if their grey thumbnails, shifted to mean 0 and scaled to length 1, have
a product of at least 0.997, and their brightness, contrast and colours differ by little.

Legend: R images, P pairs, D pixels, E colour values.
"""

import numpy as np

from components.data_guard import neighbours
from components.data_guard.dataset import Dataset

MIN_PRODUCT = 0.997

_SAMPLE_ROWS = 10_000
_CHUNK_PAIRS = 4096
# A flatter thumbnail is noise once it is scaled to length 1.
_MIN_CONTRAST = 2.0
_MAX_HUE_DIFFERENCE = 4.0
_MAX_BRIGHTNESS_DIFFERENCE = 32.0
_MAX_CONTRAST_RATIO = 1.5


def find_near_images(dataset: Dataset, is_repeat_N: np.ndarray) -> np.ndarray:
    """Finds pairs of images that nearly equal each other.

    Args:
        dataset: All rows.
        is_repeat_N: bool (N,): Rows that are left out, since an earlier one stands for them.

    Returns:
        int64 array (P, 2) of row numbers, the lower first, sorted.
    """
    with neighbours.Points() as points:
        directions = _main_directions(dataset)
        for chunk in dataset.chunks():
            greys_RD = flat_greys(chunk.rows_R)
            kept = (greys_RD.std(1) >= _MIN_CONTRAST) & ~is_repeat_N[chunk.numbers]
            found = np.zeros(int(kept.sum()), neighbours.POINT)
            found["row"] = chunk.numbers[kept]
            found["place"] = _halve(_unit_vectors(greys_RD[kept])) @ directions
            points.add(found)
        # Projecting shortens distances, so no pair is lost by this limit.
        pairs_P2 = points.close_pairs((2 - 2 * MIN_PRODUCT) ** 0.5)
    chunks = range(0, len(pairs_P2), _CHUNK_PAIRS)
    kept = [_is_near(dataset, pairs_P2[start : start + _CHUNK_PAIRS]) for start in chunks]
    return pairs_P2[np.concatenate([np.empty(0, bool), *kept])]


def flat_greys(rows_R: np.ndarray) -> np.ndarray:
    """Returns the grey thumbnails of fingerprints as float32 (R, D), row by row of the image."""
    return rows_R["grey"].reshape(len(rows_R), -1).astype(np.float32)


def _main_directions(dataset: Dataset) -> np.ndarray:
    """Returns the directions (64, DIMENSIONS) in which halved unit vectors vary most."""
    sample = np.concatenate([dataset.sample(split, _SAMPLE_ROWS) for split in ("train", "test")])
    greys = flat_greys(sample)
    halved = _halve(_unit_vectors(greys[greys.std(1) >= _MIN_CONTRAST]))
    centred = halved - halved.sum(0) / max(1, len(halved))
    _, directions = np.linalg.eigh(centred.T @ centred)
    return directions[:, -neighbours.DIMENSIONS :]


def _unit_vectors(greys_RD: np.ndarray) -> np.ndarray:
    vectors_RD = greys_RD - greys_RD.mean(1, keepdims=True)
    return vectors_RD / np.linalg.norm(vectors_RD, axis=1, keepdims=True)


def _halve(vectors_RD: np.ndarray) -> np.ndarray:
    """Sums 2 x 2 pixels such that distances only shrink: 16 x 16 px become 8 x 8."""
    side = round(vectors_RD.shape[1] ** 0.5)
    blocks = vectors_RD.reshape(len(vectors_RD), side // 2, 2, side // 2, 2)
    # Not -1, which cannot be told where a chunk holds only repeats and blank images.
    return blocks.sum((2, 4)).reshape(len(vectors_RD), (side // 2) ** 2) / 2


def _is_near(dataset: Dataset, pairs_P2: np.ndarray) -> np.ndarray:
    left, right = (dataset.take(pairs_P2[:, side]) for side in (0, 1))
    greys = flat_greys(left), flat_greys(right)
    products_P = np.einsum("pd,pd->p", *map(_unit_vectors, greys))
    brightness_P = np.abs(greys[0].mean(1) - greys[1].mean(1))
    contrasts = greys[0].std(1), greys[1].std(1)
    return (
        (products_P >= MIN_PRODUCT)
        & (brightness_P <= _MAX_BRIGHTNESS_DIFFERENCE)
        & (np.maximum(*contrasts) <= _MAX_CONTRAST_RATIO * np.minimum(*contrasts))
        & (_hue_differences(left["colour"], right["colour"]) <= _MAX_HUE_DIFFERENCE)
    )


def _hue_differences(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Returns the mean difference of red and blue, each measured against green, in [0, 510]."""
    colours = left.astype(np.float32), right.astype(np.float32)
    hues = [values[..., (0, 2)] - values[..., 1:2] for values in colours]
    return np.abs(hues[0] - hues[1]).mean((1, 2, 3))
