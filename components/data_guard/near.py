"""Nearly equal images: re-encoded, resized or slightly brightened copies of each other.

Two images are nearly equal if their grey thumbnails, shifted to mean 0 and scaled to length 1, have
a product of at least 0.997, and their brightness, contrast and colours differ by little. Comparing
all pairs is out of the question, so rows are sorted several times such that nearly equal ones come
close to each other, and compared with their neighbours only.

Legend: N rows, P pairs, D dimensions.
"""

import numpy as np

from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Table
from components.data_guard.findings import Finding

MIN_PRODUCT = 0.997

_DIMENSIONS = 16
_ROUNDS = 6
_WINDOW = 12
_SAMPLE_ROWS = 10_000
_CHUNK_ROWS = 4096
# A flatter thumbnail is noise once it is scaled to length 1.
_MIN_CONTRAST = 2.0
_MAX_HUE_DIFFERENCE = 4.0
_MAX_BRIGHTNESS_DIFFERENCE = 32.0
_MAX_CONTRAST_RATIO = 1.5
_MAX_EXAMPLES = 3


def find_near_leaks(
    table: Table, config: DataGuardConfig, near_pairs_P2: np.ndarray
) -> list[Finding]:
    """Finds rows of validation and test that nearly equal one of the training split."""
    in_train = table.rows_of("train")
    across = near_pairs_P2[in_train[near_pairs_P2].sum(1) == 1]
    # The row outside of training first.
    across = np.where(in_train[across[:, :1]], across[:, ::-1], across)
    leaks, first = np.unique(across[:, 0], return_index=True)
    if not len(leaks):
        return []
    return [
        Finding(
            name="near_leaks",
            amount=len(leaks) / max(1, int((~in_train).sum())),
            limit=config.max_near_leak_share,
            sentence=f"{len(leaks)} images of validation and test nearly equal a training image.",
            examples=_examples(table, across[first]),
            cure="Look at them; remove those that are the same picture from one of the splits.",
        )
    ]


def find_near_duplicates(
    table: Table, config: DataGuardConfig, near_pairs_P2: np.ndarray
) -> list[Finding]:
    """Finds rows of the training split that nearly equal another one there."""
    del config  # Like exact copies in training, they make no number lie.
    in_train = table.rows_of("train")
    within = near_pairs_P2[in_train[near_pairs_P2].all(1)]
    num_rows = len(np.unique(within))
    if not num_rows:
        return []
    return [
        Finding(
            name="near_duplicates",
            amount=num_rows / int(in_train.sum()),
            limit=1.0,
            sentence=f"{num_rows} training images nearly equal another one.",
            examples=_examples(table, within),
            cure="Remove them, unless their number is meant to weigh.",
        )
    ]


def _examples(table: Table, pairs_P2: np.ndarray) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(table.key(row) for row in pair) for pair in pairs_P2[:_MAX_EXAMPLES])


def find_near_pairs(table: Table) -> np.ndarray:
    """Finds pairs of rows that nearly equal each other and are no exact copies.

    Returns:
        int64 array (P, 2) of row numbers, the lower first, sorted.
    """
    rows_N = np.flatnonzero(table.contrast_N >= _MIN_CONTRAST)
    # One of each set of exact copies stands for all.
    _, first = np.unique(table.contents_N[rows_N], return_index=True)
    rows_N = rows_N[np.sort(first)]
    if len(rows_N) < 2:
        return np.empty((0, 2), np.int64)
    pairs_P2 = rows_N[np.unique(_neighbours(_coordinates(table.greys_ND, rows_N)), axis=0)]
    pairs_P2 = pairs_P2[_products(table.greys_ND, pairs_P2) >= MIN_PRODUCT]
    pairs_P2 = pairs_P2[_is_as_bright(table, pairs_P2)]
    return pairs_P2[_hue_differences(table.colours_NE, pairs_P2) <= _MAX_HUE_DIFFERENCE]


def _unit_vectors(greys_ND: np.ndarray) -> np.ndarray:
    vectors_ND = greys_ND.astype(np.float32)
    vectors_ND -= vectors_ND.mean(1, keepdims=True)
    return vectors_ND / np.linalg.norm(vectors_ND, axis=1, keepdims=True)


def _coordinates(greys_ND: np.ndarray, rows_N: np.ndarray) -> np.ndarray:
    """Projects the unit vectors on the directions in which the data varies most."""
    chunks = [
        _halve(_unit_vectors(greys_ND[rows_N[start : start + _CHUNK_ROWS]]))
        for start in range(0, len(rows_N), _CHUNK_ROWS)
    ]
    halved_ND = np.concatenate(chunks)
    sample = halved_ND[:: -(-len(rows_N) // _SAMPLE_ROWS)]
    sample = sample - sample.mean(0)
    _, directions = np.linalg.eigh(sample.T @ sample)
    return halved_ND @ directions[:, -_DIMENSIONS:]


def _halve(vectors_ND: np.ndarray) -> np.ndarray:
    """Sums 2 x 2 pixels such that distances only shrink: 16 x 16 px become 8 x 8."""
    side = round(vectors_ND.shape[1] ** 0.5)
    blocks = vectors_ND.reshape(len(vectors_ND), side // 2, 2, side // 2, 2)
    return blocks.sum((2, 4)).reshape(len(vectors_ND), -1) / 2


def _neighbours(coordinates_ND: np.ndarray) -> np.ndarray:
    """Returns candidate pairs (P, 2), the lower row first, among neighbours in several orders."""
    num_rows = len(coordinates_ND)
    whitened_ND = coordinates_ND - coordinates_ND.mean(0)
    whitened_ND /= np.maximum(whitened_ND.std(0), 1e-6)
    num_bits = int(np.clip(np.log2(num_rows / _WINDOW + 1), 0, 20))
    # Projecting shortens distances, so no pair is lost by this limit.
    max_distance = np.float32(2 - 2 * MIN_PRODUCT)
    generator = np.random.default_rng(0)
    found = [np.empty((0, 2), np.int64)]
    for _ in range(_ROUNDS):
        mix = generator.standard_normal((_DIMENSIONS, num_bits + 1)).astype(np.float32)
        projected = whitened_ND @ mix[: whitened_ND.shape[1]]
        bucket_N = (projected[:, 1:] > 0) @ (1 << np.arange(num_bits))
        order_N = np.lexsort((projected[:, 0], bucket_N))
        sorted_ND = coordinates_ND[order_N]
        for offset in range(1, min(_WINDOW, num_rows - 1) + 1):
            differences = sorted_ND[offset:] - sorted_ND[:-offset]
            near = np.flatnonzero(np.einsum("nd,nd->n", differences, differences) <= max_distance)
            found.append(np.sort(np.stack([order_N[near], order_N[near + offset]], 1), axis=1))
    return np.concatenate(found)


def _products(greys_ND: np.ndarray, pairs_P2: np.ndarray) -> np.ndarray:
    chunks = [np.empty(0, np.float32)]
    for start in range(0, len(pairs_P2), _CHUNK_ROWS):
        pairs = pairs_P2[start : start + _CHUNK_ROWS]
        left, right = (_unit_vectors(greys_ND[pairs[:, side]]) for side in (0, 1))
        chunks.append(np.einsum("pd,pd->p", left, right))
    return np.concatenate(chunks)


def _is_as_bright(table: Table, pairs_P2: np.ndarray) -> np.ndarray:
    brightness_P2, contrast_P2 = table.brightness_N[pairs_P2], table.contrast_N[pairs_P2]
    is_close = np.abs(np.diff(brightness_P2)[:, 0]) <= _MAX_BRIGHTNESS_DIFFERENCE
    return is_close & (contrast_P2.max(1) <= _MAX_CONTRAST_RATIO * contrast_P2.min(1))


def _hue_differences(colours_NE: np.ndarray, pairs_P2: np.ndarray) -> np.ndarray:
    """Returns the mean difference of red and blue, each measured against green, in [0, 510]."""
    num_pixels = colours_NE.shape[1] // 3
    colours = colours_NE[pairs_P2].astype(np.float32).reshape(-1, 2, num_pixels, 3)
    hues = colours[..., (0, 2)] - colours[..., 1:2]
    return np.abs(hues[:, 0] - hues[:, 1]).mean((1, 2))
