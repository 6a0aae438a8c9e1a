"""Confidence intervals of errors, by a bootstrap over blocks.

Neighbouring windows of a series share most of their steps, so that their errors are no independent
draws; whole blocks of them nearly are (Carlstein 1986, https://doi.org/10.1214/aos/1176350057).

Axes: N examples in order, P blocks, R resamples.
"""

import numpy as np

_NUM_RESAMPLES = 2000
_MIN_BLOCKS = 10
# More blocks than this add time and no precision.
_MAX_BLOCKS = 2000
_PERCENTILES = (2.5, 97.5)

Interval = tuple[float, float]


def intervals(
    errors_N: np.ndarray, simple_errors_N: np.ndarray, *, block_rows: int
) -> dict[str, Interval]:
    """Returns 95% intervals of a model's `mae` and of its `skill`.

    Args:
        errors_N: Mean absolute error of the model on each example.
        simple_errors_N: That of the simple forecast.
        block_rows: Neighbouring examples that depend on each other, >= 1.

    Returns:
        Metric -> (lowest, highest); empty if there are fewer than 10 blocks, from which nothing can
        be told. The same each time.

    >>> intervals(np.ones(50), np.full(50, 4.0), block_rows=1)
    {'mae': (1.0, 1.0), 'skill': (0.75, 0.75)}
    """
    block_rows = max(block_rows, -(-len(errors_N) // _MAX_BLOCKS))
    starts_P = np.arange(0, len(errors_N), block_rows)
    num_blocks = len(starts_P)
    if num_blocks < _MIN_BLOCKS:
        return {}
    sums_P3 = np.stack(
        [
            np.add.reduceat(values_N.astype(np.float64), starts_P)
            for values_N in (errors_N, simple_errors_N, np.ones(len(errors_N)))
        ],
        axis=1,
    )
    generator = np.random.default_rng(0)
    counts_RP = generator.multinomial(
        num_blocks, np.full(num_blocks, 1 / num_blocks), _NUM_RESAMPLES
    )
    model_R, simple_R, weight_R = (counts_RP @ sums_P3).T
    found = {"mae": model_R / weight_R}
    if (simple_R > 0).all():
        found["skill"] = 1.0 - model_R / simple_R
    return {name: _interval(values_R) for name, values_R in found.items()}


def mean_interval(values_N: np.ndarray) -> Interval | None:
    """Returns the 95% interval of a mean of independent values, such as paired differences.

    Args:
        values_N: The values; None is returned for fewer than 10.

    >>> mean_interval(np.full(50, 0.25))
    (0.25, 0.25)
    """
    found = intervals(values_N, np.ones(len(values_N)), block_rows=1)
    return found.get("mae")


def _interval(values_R: np.ndarray) -> Interval:
    low, high = np.percentile(values_R, _PERCENTILES).tolist()
    return low, high
