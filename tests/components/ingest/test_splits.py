import collections

import numpy as np
import pytest

from components.ingest import splits
from components.ingest.config import SplitConfig

SHARES = {"test": 0.2, "validation": 0.1}


def assign(num_rows: int, seed: int = 0) -> list[str]:
    return [
        splits.assign_split(b"row %d" % index, seed=seed, shares=SHARES)
        for index in range(num_rows)
    ]


def test_shares_come_out_within_four_standard_deviations():
    counts = collections.Counter(assign(20_000))
    assert abs(counts["test"] - 4_000) < 4 * 57 and abs(counts["validation"] - 2_000) < 4 * 43


def test_another_seed_gives_another_division():
    assert assign(100, seed=1) != assign(100, seed=2)


def test_any_integer_is_a_seed():
    assert set(assign(100, seed=-(2**70))) <= set(splits.SPLITS)


def test_a_split_that_the_source_gives_takes_nothing_from_training():
    config = SplitConfig(validation_share=0.1)
    given = frozenset({"train", "validation", "test"})
    assert splits.split_shares(config, given=given) == {}


def test_a_missing_test_split_takes_its_share():
    config = SplitConfig(validation_share=0.1, test_share=0.2)
    assert splits.split_shares(config, given=frozenset({"train"})) == SHARES


def test_each_row_outside_the_test_split_is_in_one_fold():
    rows = [b"row %d" % index for index in range(5000)]
    plain = [splits.assign_split(row, seed=3, shares={"test": 0.2}) for row in rows]
    folds = [
        [splits.assign_split(row, seed=3, shares={"test": 0.2}, folds=4, fold=fold) for row in rows]
        for fold in range(4)
    ]
    for row, names in enumerate(zip(*folds, strict=True)):
        expected = {"test": 4} if plain[row] == "test" else {"train": 3, "validation": 1}
        assert collections.Counter(names) == expected
    sizes = [names.count("validation") for names in folds]
    # Each is binomial: 5,000 rows with a share of 0.2.
    assert all(abs(size - 1000) < 4 * 29 for size in sizes)


def test_the_latest_rows_are_the_test_split_and_those_before_them_the_validation_split():
    times = np.random.default_rng(0).permutation(1000)
    starts = splits.time_starts([times[:300], times[300:]], {"test": 0.1, "validation": 0.2})
    rule = splits.SplitRule(seed=0, shares={}, starts=starts)
    found = [rule.assign(b"", time) for time in range(1000)]
    assert found == ["train"] * 700 + ["validation"] * 200 + ["test"] * 100


def test_rows_of_one_moment_are_never_divided():
    starts = splits.time_starts([np.repeat([1, 2, 3], 10)], {"test": 0.2, "validation": 0.2})
    assert starts == {"test": 3, "validation": 2}


def test_times_that_are_too_many_to_keep_are_thinned_evenly(monkeypatch):
    monkeypatch.setattr(splits, "_MAX_TIMES", 100)
    blocks = np.array_split(np.arange(100_000), 999)
    starts = splits.time_starts(blocks, {"test": 0.25})
    assert abs(starts["test"] - 75_000) < 3_000


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"fold": 1}, r"fold needs folds.*Received: fold = 1, no folds"),
        ({"folds": 3, "fold": 3}, r"fold must be below folds. Received: fold = 3, folds = 3"),
        ({"folds": 3, "by": "time", "key": "t"}, r"would look into the future"),
        ({"by": "group"}, r'by = "group" needs the column'),
    ],
)
def test_contradicting_settings_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        SplitConfig.from_dict(values)
