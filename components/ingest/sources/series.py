"""Windows of series in files: the past is the input, the steps after it are the target.

Legend: T steps of a series, C channels (the value, then the covariates).
"""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from components.ingest import splits
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.features.config import HISTORY_FEATURE, TARGET_FEATURE, SeriesFeature
from components.ingest.sources import columns, steps
from components.ingest.sources.base import ColumnBlock, Reject, Row
from components.ingest.sources.file_source import FileSource
from components.ingest.sources.files import SourceFile

_BLOCK_BYTES = 1 << 20
_FLOAT_BYTES = 4


@dataclasses.dataclass(frozen=True)
class Series:
    """One series in the order of its times."""

    name: str  # Empty if there is only one.
    times_T: np.ndarray  # int64 seconds since 1970 UTC.
    values_TC: np.ndarray  # float32; NaN where a value is missing.


@dataclasses.dataclass(frozen=True)
class WindowsBlock:
    """Windows of one series and one split; `starts` are their first rows in `part`."""

    split: str
    part: Series
    starts: tuple[int, ...]
    series: SeriesFeature

    def rows(self) -> Iterator[Row]:
        """Yields the windows; each is from the time of its target's first step."""
        past, future = self.series.history_steps, self.series.horizon_steps
        for start in self.starts:
            now = start + past
            history_TC = np.ascontiguousarray(self.part.values_TC[start:now])
            time = int(self.part.times_T[now])
            moment = np.datetime64(time, "s")
            yield Row(
                key=f"{self.part.name}@{moment}" if self.part.name else str(moment),
                features={
                    HISTORY_FEATURE: history_TC.ravel(),
                    TARGET_FEATURE: self.part.values_TC[now : now + future, 0],
                },
                label=None,
                content=history_TC.tobytes(),
                time=time,
            )


@dataclasses.dataclass(frozen=True)
class RejectsBlock:
    """Rows of the files that belong to no series."""

    rejects: list[Reject]
    split: str = splits.TRAIN

    def rows(self) -> Iterator[Reject]:
        """Yields them."""
        return iter(self.rejects)


@dataclasses.dataclass(frozen=True)
class SeriesSource:
    """All windows of the series in some files, which are read whole: 12 bytes a value or so."""

    found: FileSource
    data: DataConfig

    @property
    def origin(self) -> str:
        """The kind and the names of the files."""
        return self.found.origin

    @property
    def given_splits(self) -> frozenset[str]:
        """Only "train": the windows are split by time."""
        return frozenset({splits.TRAIN})

    @property
    def num_bytes(self) -> int:
        """About how much the windows take: a row of a file takes 20 bytes or more."""
        series = self._series
        window_bytes = _window_bytes(series)
        return self.found.file_bytes * window_bytes // (20 * series.stride_steps)

    @property
    def _series(self) -> SeriesFeature:
        if self.data.series is None:
            raise ValueError("The recipe must have a table data.series. Received: none.")
        return self.data.series

    def files(self) -> Mapping[str, Path | SourceFile]:
        """The files."""
        return self.found.files()

    def blocks(self) -> Iterator[WindowsBlock | RejectsBlock]:
        """Yields the windows series by series, in the order of their times.

        A window belongs to a split if all of its target does, and a target that reaches over the
        end of a split is no example.

        Raises:
            DataError: If a file cannot be read, or times of a series repeat or are not regular.
        """
        all_series, rejects = read_series(self.found.blocks(), self._series)
        parts = [steps.cut(part.name, part.times_T) for part in all_series]
        rejects += [reject for _, gaps in parts for reject in gaps]
        if rejects:
            yield RejectsBlock(rejects)
        starts = self._split_starts(all_series)
        for part, (runs, _) in zip(all_series, parts, strict=True):
            for run in runs:
                yield from self._run_blocks(part, run, starts)

    def _split_starts(self, all_series: list[Series]) -> dict[str, int]:
        shares = splits.split_shares(self.data.splits, given=self.given_splits)
        times = np.unique(np.concatenate([part.times_T for part in all_series]))
        return splits.time_starts([times], shares)

    def _run_blocks(
        self, part: Series, run: slice, split_starts: dict[str, int]
    ) -> Iterator[WindowsBlock]:
        """Yields the windows of steps without a gap among them."""
        series = self._series
        times_T, values_TC = part.times_T[run], part.values_TC[run]
        size = series.history_steps + series.horizon_steps
        starts_N = np.arange(0, len(times_T) - size + 1, series.stride_steps)
        missing_T = np.concatenate([[0], np.cumsum(np.isnan(values_TC).any(1))])
        starts_N = starts_N[missing_T[starts_N + size] == missing_T[starts_N]]
        names_N = _splits_of(times_T, starts_N, series, split_starts)
        block_windows = max(1, _BLOCK_BYTES // _window_bytes(series))
        for name in splits.SPLITS:
            chosen = starts_N[names_N == name]
            for first in range(0, len(chosen), block_windows):
                starts = chosen[first : first + block_windows]
                rows = slice(starts[0], starts[-1] + size)
                cut = Series(part.name, times_T[rows], values_TC[rows])
                yield WindowsBlock(name, cut, tuple((starts - starts[0]).tolist()), series)


def open_series(found: FileSource, data: DataConfig) -> SeriesSource:
    """Returns the windows of the series in some files.

    Raises:
        DataError: If the files are given split by split.
    """
    if found.given_splits != {splits.TRAIN}:
        raise DataError(
            "Expected all files of a series in data.source.path, since it is split by time. "
            f"Received: files of the splits {', '.join(sorted(found.given_splits))}. "
            "Name them all in data.source.path."
        )
    return SeriesSource(found, data)


def read_series(
    blocks: Iterator[ColumnBlock], series: SeriesFeature
) -> tuple[list[Series], list[Reject]]:
    """Returns all series sorted by name, and the rows that belong to none or lack a value.

    Raises:
        DataError: If a file cannot be read.
    """
    codes: dict[str, int] = {}
    pieces, rejects = [], []
    for block in blocks:
        piece, found = _read_block(block, series, codes)
        pieces.append(piece)
        rejects += found
    codes_T, times_T, values_TC = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
    order_T = np.lexsort([times_T, codes_T])
    codes_T, times_T, values_TC = codes_T[order_T], times_T[order_T], values_TC[order_T]
    all_series: list[Series] = []
    for name in sorted(codes):
        first, last = np.searchsorted(codes_T, [codes[name], codes[name] + 1])
        all_series.append(Series(name, times_T[first:last], values_TC[first:last]))
    return all_series, rejects


def _read_block(
    block: ColumnBlock, series: SeriesFeature, codes: dict[str, int]
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], list[Reject]]:
    """Returns series' codes, times and values, and rejects; rows with a time keep their place."""
    names = [series.value, *series.covariates]
    key_columns = [series.time, *([series.series] if series.series else [])]
    arrays, keys, rejects = block.read([*key_columns, *names])
    unplaced, unusable = columns.Problems(), columns.Problems()
    times_T = columns.seconds(series.time, arrays[series.time], unplaced)
    codes_T = np.zeros(len(times_T), np.int64)
    if series.series is None:
        codes.setdefault("", 0)
    else:
        found = columns.names(series.series, arrays[series.series], unplaced)
        missing_T = found.indices.is_null().to_numpy(zero_copy_only=False)
        unplaced.add(np.flatnonzero(missing_T), f"it has no {series.series}")
        known = [codes.setdefault(name, len(codes)) for name in found.dictionary.to_pylist()]
        codes_T = np.array([*known, -1])[found.indices.fill_null(len(known)).to_numpy()]
    channels = []
    for name in names:
        numbers = columns.numbers(name, arrays[name], unusable)
        unusable.add(np.flatnonzero(~numbers.present_N), f"it has no {name}")
        channels.append(np.where(numbers.present_N, numbers.values_N, np.nan).astype(np.float32))
    kept = np.delete(np.arange(len(times_T)), list(unplaced))
    reasons = {**unusable, **unplaced}
    rejects = [*rejects, *(Reject(keys[row], reasons[row]) for row in sorted(reasons))]
    return (codes_T[kept], times_T[kept], np.stack(channels, 1)[kept]), rejects


def _splits_of(
    times_T: np.ndarray, starts_N: np.ndarray, series: SeriesFeature, split_starts: dict[str, int]
) -> np.ndarray:
    """Returns the split of each window, empty if its target reaches over the end of one."""
    first_N = times_T[starts_N + series.history_steps]
    last_N = times_T[starts_N + series.history_steps + series.horizon_steps - 1]
    rule = splits.SplitRule(seed=0, shares={}, starts=split_starts)
    names = [
        (rule.assign(b"", first), rule.assign(b"", last))
        for first, last in zip(first_N.tolist(), last_N.tolist(), strict=True)
    ]
    return np.array([first if first == last else "" for first, last in names], dtype="U10")


def _window_bytes(series: SeriesFeature) -> int:
    channels = 1 + len(series.covariates)
    return _FLOAT_BYTES * (series.history_steps * channels + series.horizon_steps)
