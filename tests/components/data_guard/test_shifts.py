import numpy as np
import pytest

from components.data_guard import shifts


def test_names_that_hardly_repeat_are_no_shift():
    # Each comes three times in all, as hours do of which three stations report.
    names = np.random.default_rng(0).permutation(np.arange(18_000, dtype=np.uint64) // 3)
    _, is_chance = shifts.name_distance(names[:14_000], names[14_000:], num_tests=1)
    assert is_chance


def test_frequent_names_among_rare_ones_are_compared():
    rare = np.arange(10_000, dtype=np.uint64)
    first, second = np.full(10_000, 20_000, np.uint64), np.full(10_000, 20_001, np.uint64)
    distance, is_chance = shifts.name_distance(
        np.concatenate([rare[:5000], first]), np.concatenate([rare[5000:], second]), num_tests=1
    )
    assert distance == pytest.approx(2 / 3) and not is_chance


DRAWS = {
    "names": (shifts.name_distance, lambda generator, size: generator.integers(0, 30, size)),
    "skewed names": (
        shifts.name_distance,
        lambda generator, size: generator.geometric(0.1, size).astype(np.uint64),
    ),
    "numbers": (shifts.number_distance, lambda generator, size: generator.normal(size=size)),
}


@pytest.mark.parametrize("kind", DRAWS)
def test_at_most_one_in_a_hundred_equal_distributions_is_taken_for_a_shift(kind):
    distance, draw = DRAWS[kind]
    generator = np.random.default_rng(1)
    alarms = [
        not distance(draw(generator, 900), draw(generator, 150), num_tests=1)[1] for _ in range(300)
    ]
    assert sum(alarms) <= 3


@pytest.mark.parametrize("kind", DRAWS)
def test_nothing_is_no_shift(kind):
    distance, draw = DRAWS[kind]
    empty = draw(np.random.default_rng(0), 0)
    assert distance(empty, empty, num_tests=1) == (0.0, True)
