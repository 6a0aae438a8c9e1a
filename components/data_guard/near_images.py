"""Nearly equal images: re-encoded, resized or slightly brightened copies of each other.

Two images are nearly equal if their grey thumbnails, shifted to mean 0 and scaled to length 1, have
a product of at least 0.997, and their brightness, contrast and colours differ by little.

Legend: N rows of the dataset, R images, P pairs, D pixels, E colour values.
"""

import numpy as np

from components.data_guard import near_looks
from components.data_guard.dataset import Dataset

MIN_PRODUCT = 0.997

# A flatter thumbnail is noise once it is scaled to length 1.
_MIN_CONTRAST = 2.0
_MAX_HUE_DIFFERENCE = 4.0
_MAX_BRIGHTNESS_DIFFERENCE = 32.0
_MAX_CONTRAST_RATIO = 1.5


def find_near_images(dataset: Dataset, is_repeat_N: np.ndarray) -> np.ndarray:
    """Finds pairs of images that nearly equal each other; see `near_looks.find_near_looks`."""
    look = near_looks.Look(
        is_usable=has_contrast,
        vectors=halved_units,
        max_distance=(2 - 2 * MIN_PRODUCT) ** 0.5,
        is_near=is_near,
    )
    return near_looks.find_near_looks(dataset, is_repeat_N, look)


def flat_greys(rows_R: np.ndarray) -> np.ndarray:
    """Returns the grey thumbnails of fingerprints as float32 (R, D), row by row of the image."""
    return near_looks.flatten(rows_R["grey"])


def has_contrast(rows_R: np.ndarray) -> np.ndarray:
    """Returns which images are not too flat to be compared, bool (R,)."""
    return flat_greys(rows_R).std(1) >= _MIN_CONTRAST


def halved_units(rows_R: np.ndarray) -> np.ndarray:
    """Returns grey thumbnails of length 1, summed in squares of 2 x 2 pixels."""
    return _halve(near_looks.unit_vectors(flat_greys(rows_R)))


def _halve(vectors_RD: np.ndarray) -> np.ndarray:
    """Sums 2 x 2 pixels such that distances only shrink: 16 x 16 px become 8 x 8."""
    side = round(vectors_RD.shape[1] ** 0.5)
    blocks = vectors_RD.reshape(len(vectors_RD), side // 2, 2, side // 2, 2)
    return near_looks.flatten(blocks.sum((2, 4))) / 2


def is_near(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Returns in which pairs of fingerprints the images nearly equal each other, bool (P,)."""
    greys = flat_greys(left), flat_greys(right)
    products_P = np.einsum("pd,pd->p", *map(near_looks.unit_vectors, greys))
    return (
        (products_P >= MIN_PRODUCT)
        & _is_lit_alike(*greys)
        & (_hue_differences(left["colour"], right["colour"]) <= _MAX_HUE_DIFFERENCE)
    )


def _is_lit_alike(left_PD: np.ndarray, right_PD: np.ndarray) -> np.ndarray:
    contrasts = left_PD.std(1), right_PD.std(1)
    brightness_P = np.abs(left_PD.mean(1) - right_PD.mean(1))
    return (brightness_P <= _MAX_BRIGHTNESS_DIFFERENCE) & (
        np.maximum(*contrasts) <= _MAX_CONTRAST_RATIO * np.minimum(*contrasts)
    )


def _hue_differences(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Returns the mean difference of red and blue, each measured against green, in [0, 510]."""
    colours = left.astype(np.float32), right.astype(np.float32)
    hues = [values[..., (0, 2)] - values[..., 1:2] for values in colours]
    return np.abs(hues[0] - hues[1]).mean((1, 2, 3))
