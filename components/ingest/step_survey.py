"""Whether a table is one series of regular steps, or several, and after how many it repeats."""

import dataclasses

import numpy as np

from components.ingest.sources import columns
from components.ingest.table_survey import TableSurvey

# A series must have some steps, and hardly a gap; a month may be shorter than another.
_MIN_STEPS = 100
_MAX_SERIES = 1000
_MIN_REGULAR_SHARE = 0.95
_STEP_TOLERANCE = 0.1
_MAX_PERIOD_SHARE = 3
_MIN_CORRELATION = 0.2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Steps:
    """A table of regular steps: the column of times, and the one that tells series apart."""

    time: str
    series: str | None


def find_steps(survey: TableSurvey, time: str | None) -> Steps | None:
    """Returns how a table is one series of regular steps, or several; None if it is none.

    Args:
        survey: The table.
        time: The column of times, or None if there is none.
    """
    if time is None or survey.num_rows < _MIN_STEPS:
        return None
    times_N = columns.seconds(time, survey.arrays[time], columns.Problems())
    if _are_regular(times_N, np.zeros(len(times_N), np.int64)):
        return Steps(time=time, series=None)
    for name, column in survey.columns.items():
        if column.kind not in ("category", "id") or len(column.counts) > _MAX_SERIES:
            continue
        codes = columns.names(name, survey.arrays[name], columns.Problems()).indices
        if codes.null_count == 0 and _are_regular(times_N, codes.to_numpy()):
            return Steps(time=time, series=name)
    return None


def _are_regular(times_N: np.ndarray, codes_N: np.ndarray) -> bool:
    """Returns whether nearly all steps of each series are equal, as those of months nearly are."""
    order_N = np.lexsort([times_N, codes_N])
    is_step_N = np.diff(codes_N[order_N]) == 0
    steps_N = np.diff(times_N[order_N])[is_step_N]
    if len(steps_N) < _MIN_STEPS or (steps_N <= 0).any():
        return False
    is_usual_N = np.abs(steps_N / np.median(steps_N) - 1) <= _STEP_TOLERANCE
    return bool(is_usual_N.mean() >= _MIN_REGULAR_SHARE)


def find_period(values_T: np.ndarray) -> int:
    """Returns after how many steps a series resembles itself most, 1 if after none.

    The peak of the autocorrelation of the differences, among lags up to a third of the series.
    """
    step_T = np.diff(values_T.astype(np.float64))
    if len(step_T) < 2 * _MAX_PERIOD_SHARE:
        return 1
    step_T = step_T - step_T.mean()
    spectrum = np.abs(np.fft.rfft(step_T, 2 * len(step_T))) ** 2
    correlation = np.fft.irfft(spectrum)[: len(step_T) // _MAX_PERIOD_SHARE]
    if len(correlation) < 4 or correlation[0] <= 0:
        return 1
    correlation = correlation / correlation[0]
    peaks = np.flatnonzero(
        (correlation[1:-1] > correlation[:-2]) & (correlation[1:-1] >= correlation[2:])
    )
    if not len(peaks):
        return 1
    best = int(peaks[np.argmax(correlation[peaks + 1])]) + 1
    return best if correlation[best] >= _MIN_CORRELATION else 1
