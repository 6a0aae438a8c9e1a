"""Which split a row belongs to: a hash of its content or its group, or when it is from.

A hash does not depend on the row's position, its file's name, or how many other rows there are. A
row therefore stays in its split when the data grows or is reordered, and equal rows share one.
"""

import dataclasses
import hashlib
from collections.abc import Iterable

import numpy as np

from components.ingest.config import SplitConfig

TRAIN, VALIDATION, TEST = "train", "validation", "test"
SPLITS = (TRAIN, VALIDATION, TEST)

# Above this, every second of the times that were looked at is let go.
_MAX_TIMES = 1 << 22


@dataclasses.dataclass(frozen=True, kw_only=True)
class SplitRule:
    """How the rows of the source's train split are divided."""

    seed: int
    # Share of each split that is not `train`; their sum is below 1.
    shares: dict[str, float]
    # The validation split is number `fold` of this many equal parts of what is not in the test
    # split, instead of a share.
    folds: int | None = None
    fold: int = 0
    # The first second of each split that is not `train`, if rows are divided by time.
    starts: dict[str, int] | None = None

    def assign(self, identity: bytes, time: int | None = None) -> str:
        """Returns the split of a row.

        Args:
            identity: What the split is a hash of, such as the row's pixels or its group's name.
            time: When the row is from, in seconds; needed if rows are divided by time.
        """
        if self.starts is None or time is None:
            return assign_split(
                identity, seed=self.seed, shares=self.shares, folds=self.folds, fold=self.fold
            )
        later = (name for name in (TEST, VALIDATION) if time >= self.starts.get(name, time + 1))
        return next(later, TRAIN)


def split_shares(config: SplitConfig, *, given: frozenset[str]) -> dict[str, float]:
    """Returns the share that each split takes out of `train`; the `given` ones take none."""
    shares = {TEST: config.test_share, VALIDATION: config.validation_share}
    return {name: share for name, share in shares.items() if share and name not in given}


def assign_split(
    content: bytes, *, seed: int, shares: dict[str, float], folds: int | None = None, fold: int = 0
) -> str:
    """Returns the split of a row by a hash.

    Args:
        content: What identifies the row, such as its pixels; any length.
        seed: The recipe's seed; another seed gives another division.
        shares: Share of each split that is not `train`; their sum is below 1.
        folds: Number of equal parts of what is not in the test split, if there are such.
        fold: The part that is the validation split.

    >>> assign_split(b"row", seed=0, shares={}), assign_split(b"row", seed=0, shares={"test": 1.0})
    ('train', 'test')
    """
    digest = hashlib.sha256(b"%d:%b" % (seed, content)).digest()
    point = int.from_bytes(digest[:8], "little") / 2**64
    if folds is not None:
        return _assign_fold(point, test_share=shares.get(TEST, 0.0), folds=folds, fold=fold)
    for name, share in shares.items():
        if point < share:
            return name
        point -= share
    return TRAIN


def _assign_fold(point: float, *, test_share: float, folds: int, fold: int) -> str:
    if point < test_share:
        return TEST
    part = int((point - test_share) / (1 - test_share) * folds)
    return VALIDATION if min(part, folds - 1) == fold else TRAIN


def time_starts(times: Iterable[np.ndarray], shares: dict[str, float]) -> dict[str, int]:
    """Returns the first second of each split, so that about its share of the rows are from then on.

    Rows of one second are never divided. Memory is bounded: of more than four million times, every
    second one is left out, again and again.

    Args:
        times: The times of all rows in seconds, block by block.
        shares: Share of the rows of each split that is not `train`.

    >>> time_starts([np.arange(100)], {"test": 0.1, "validation": 0.2})
    {'test': 90, 'validation': 70}
    """
    kept, step, num_seen = np.empty(0, np.int64), 1, 0
    for block in times:
        kept = np.concatenate([kept, block[-num_seen % step :: step]])
        num_seen += len(block)
        while len(kept) > _MAX_TIMES:
            kept, step = kept[::2], step * 2
    kept.sort()
    starts, later = {}, 0.0
    for name in (TEST, VALIDATION):
        if name in shares and len(kept):
            later += shares[name]
            starts[name] = int(kept[min(round(len(kept) * (1 - later)), len(kept) - 1)])
    return starts
