import pytest

from components.evaluator import config


@pytest.mark.parametrize(
    ("values", "predicts_numbers", "sentence"),
    [
        (
            {"min_accuracy": 0.9},
            False,
            "classes needs min_accuracy and min_class_accuracy. Received: min_accuracy",
        ),
        ({}, False, "classes needs min_accuracy and min_class_accuracy. Received: neither"),
        ({}, True, "numbers needs max_mae or min_skill. Received: neither"),
        ({"max_mae_rise": 0.1}, True, "numbers needs max_mae or min_skill. Received: neither"),
        (
            {"min_skill": 0.1, "min_accuracy": 0.9},
            True,
            "numbers has the thresholds max_mae, min_skill, max_mae_rise. Received: min_accuracy",
        ),
        (
            {"min_accuracy": 0.9, "min_class_accuracy": 0.5, "max_mae": 3.0},
            False,
            "has the thresholds min_accuracy, .* Received: max_mae. Remove them",
        ),
    ],
)
def test_thresholds_must_be_of_the_answers_and_enough(values, predicts_numbers, sentence):
    evaluation = config.EvaluationConfig.from_dict(values)
    with pytest.raises(ValueError, match=sentence):
        evaluation.check_answers(predicts_numbers=predicts_numbers)


def test_unset_limits_of_change_have_their_defaults():
    classes = config.EvaluationConfig(min_accuracy=0.9, min_class_accuracy=0.5).of_classes()
    assert classes.max_accuracy_drop == 0.01
    assert config.EvaluationConfig(min_skill=0.1).of_numbers().max_mae_rise == 0.01
    assert config.EvaluationConfig(max_mae=2, max_mae_rise=0.2).of_numbers().max_mae_rise == 0.2
