import collections

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
