import numpy as np
import pytest

from components.evaluator.numbers import bootstrap


def test_interval_of_independent_errors_is_that_of_the_central_limit():
    generator = np.random.default_rng(1)
    errors_N = generator.exponential(3.0, 4000)
    low, high = bootstrap.intervals(errors_N, np.ones(4000), block_rows=1)["mae"]
    half = 1.96 * errors_N.std() / np.sqrt(4000)
    assert low == pytest.approx(errors_N.mean() - half, abs=0.15 * half)
    assert high == pytest.approx(errors_N.mean() + half, abs=0.15 * half)


def test_blocks_widen_the_interval_of_errors_that_hang_together():
    # Each draw stands for 20 neighbours, so that 2000 examples say as much as 100 draws.
    errors_N = np.repeat(np.random.default_rng(1).exponential(3.0, 100), 20)
    plain, blocked = (
        bootstrap.intervals(errors_N, np.ones(2000), block_rows=rows)["mae"] for rows in (1, 20)
    )
    ratio = (blocked[1] - blocked[0]) / (plain[1] - plain[0])
    assert ratio == pytest.approx(np.sqrt(20), rel=0.15)


def test_skill_is_resampled_with_both_errors_together():
    # The model errs half as much on each example, so that the skill is certain and the error not.
    simple_N = np.random.default_rng(2).exponential(1.0, 500)
    found = bootstrap.intervals(simple_N / 2, simple_N, block_rows=1)
    assert found["skill"] == pytest.approx((0.5, 0.5))
    assert found["mae"][0] < found["mae"][1]


def test_fewer_than_ten_blocks_give_no_interval():
    assert bootstrap.intervals(np.ones(90), np.ones(90), block_rows=10) == {}
    assert bootstrap.intervals(np.ones(91), np.ones(91), block_rows=10) != {}
