"""An outcome is read back as it was written."""

import pytest

from components.evaluator import outcome

_OUTCOME = outcome.EvaluationOutcome(
    blessed=False,
    num_examples=3,
    metrics={"accuracy": 2 / 3, "loss": 0.1},
    baseline_metrics={"accuracy": 1.0, "loss": 0.05},
    class_accuracy=(1.0, 0.5),
    class_num_examples=(1, 2),
    confusion_KK=((1, 0), (1, 1)),
    failures=(
        outcome.Failure(metric="accuracy", label=1, kind="value", value=0.5, bound=0.75),
        outcome.Failure(metric="accuracy", label=None, kind="change", value=-0.3, bound=-0.01),
    ),
)


def test_what_is_written_is_read(tmp_path):
    outcome.write(_OUTCOME, tmp_path)
    assert outcome.read(tmp_path) == _OUTCOME


def test_the_worst_class_has_the_lowest_accuracy():
    assert _OUTCOME.worst_class() == 1


def test_a_folder_without_an_outcome_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"outcome\.json"):
        outcome.read(tmp_path)
