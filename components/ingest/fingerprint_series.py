"""The look of a window of a series in its fingerprint: its past in NUM_PARTS means, in order.

Legend: N windows, T steps.
"""

from collections.abc import Sequence

import numpy as np

NUM_PARTS = 16
FIELDS = [("outline", "<f4", (NUM_PARTS,))]


def outlines(histories: Sequence[Sequence[float]]) -> np.ndarray:
    """Returns the means of NUM_PARTS equal parts of each past, (N, NUM_PARTS) float32.

    Several values a step follow each other in the past, and their mean counts. Missing values are
    left out; a part without any other is NaN.

    >>> outlines([[float(step) for step in range(32)]])[0, :3].tolist()
    [0.5, 2.5, 4.5]
    """
    histories_NT = np.asarray(histories, np.float32).reshape(len(histories), -1)
    num_steps = histories_NT.shape[1]
    starts = np.arange(NUM_PARTS) * num_steps // NUM_PARTS
    is_known_NT = np.isfinite(histories_NT)
    # A part shorter than a step is that step's value.
    counts = np.add.reduceat(is_known_NT, starts, axis=1, dtype=np.int32)
    sums = np.add.reduceat(np.where(is_known_NT, histories_NT, 0), starts, axis=1)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan, np.float32), where=counts > 0)
