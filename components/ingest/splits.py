"""Which split a row belongs to: a hash of its content, so that it never moves.

The hash does not depend on the row's position, its file's name, or how many other rows there are.
A row therefore stays in its split when the data grows or is reordered, and equal rows share one.
"""

import hashlib

from components.ingest.config import SplitConfig

TRAIN, VALIDATION, TEST = "train", "validation", "test"
SPLITS = (TRAIN, VALIDATION, TEST)


def split_shares(config: SplitConfig, *, given: frozenset[str]) -> dict[str, float]:
    """Returns the share that each split takes out of `train`; the `given` ones take none."""
    shares = {TEST: config.test_share, VALIDATION: config.validation_share}
    return {name: share for name, share in shares.items() if share and name not in given}


def assign_split(content: bytes, *, seed: int, shares: dict[str, float]) -> str:
    """Returns the split of a row.

    Args:
        content: What identifies the row, such as its pixels; any length.
        seed: The recipe's seed; another seed gives another division.
        shares: Share of each split that is not `train`; their sum is below 1.

    >>> assign_split(b"row", seed=0, shares={}), assign_split(b"row", seed=0, shares={"test": 1.0})
    ('train', 'test')
    """
    digest = hashlib.sha256(b"%d:%b" % (seed, content)).digest()
    point = int.from_bytes(digest[:8], "little") / 2**64
    for name, share in shares.items():
        if point < share:
            return name
        point -= share
    return TRAIN
