"""The validation gate refuses data that cannot be learned from, and says why."""

import pytest

from components import gates
from components.validation_gate import gate

_NAMES = ("cat", "dog")


def _facts(label_counts, anomalies=()):
    return gate.SplitFacts(
        num_examples=sum(label_counts.values()), label_counts=label_counts, anomalies=anomalies
    )


def test_sound_data_passes_with_the_counts_of_each_class():
    splits = {"train": _facts({0: 3, 1: 2}), "test": _facts({1: 1, 0: 4})}
    assert gate.check(splits, _NAMES) == {"train": [3, 2], "test": [4, 1]}


def test_a_class_without_examples_is_named():
    splits = {"train": _facts({0: 3, 1: 2}), "test": _facts({0: 4})}
    with pytest.raises(gates.GateRefusedError, match=r"split 'test': class 'dog' \(label 1\) has"):
        gate.check(splits, _NAMES)


def test_a_label_outside_the_schema_is_named():
    splits = {"train": _facts({0: 3, 1: 2, 7: 5})}
    message = r"split 'train': 5 examples have label=7, but labels must be 0 to 1"
    with pytest.raises(gates.GateRefusedError, match=message):
        gate.check(splits, _NAMES)


def test_a_negative_label_is_named():
    with pytest.raises(gates.GateRefusedError, match=r"1 examples have label=-1"):
        gate.check({"train": _facts({0: 3, 1: 2, -1: 1})}, _NAMES)


def test_an_anomaly_is_quoted():
    splits = {"train": _facts({0: 3, 1: 2}, anomalies=("image: Column dropped",))}
    with pytest.raises(gates.GateRefusedError, match=r"split 'train': image: Column dropped"):
        gate.check(splits, _NAMES)


def test_an_empty_split_is_one_problem_and_not_one_for_each_class():
    with pytest.raises(
        gates.GateRefusedError, match=r"Found split 'train': it holds no examples\."
    ):
        gate.check({"train": _facts({})}, _NAMES)


def test_a_long_list_of_problems_is_cut():
    names = tuple(f"c{label}" for label in range(20))
    with pytest.raises(gates.GateRefusedError, match=r"; and 11 more\. Correct the source"):
        gate.check({"train": _facts({0: 1})}, names)


def test_numbers_have_no_classes_to_count():
    facts = gate.SplitFacts(num_examples=3, label_counts={})
    assert gate.check({"train": facts}, ()) == {"train": []}
    bad = gate.SplitFacts(num_examples=3, label_counts={}, anomalies=("target: NaN",))
    with pytest.raises(gates.GateRefusedError, match="target: NaN. .* change `data` in the recipe"):
        gate.check({"train": bad}, ())
