import pytest

from components.trainer import config


def _training(**values):
    return config.TrainingConfig.from_dict({"num_epochs": 4, "global_batch_size": 12, **values})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"accumulation_steps": 5},
            "must divide the batch. Received: accumulation_steps=5, .* sizes: 10 and 15",
        ),
        (
            {"early_stopping": {"patience_epochs": 4}},
            "smaller than `num_epochs`, .* patience_epochs=4, num_epochs=4",
        ),
        (
            {"schedule": {"warmup_share": 0.1, "warmup_steps": 3}},
            "warmup_share=0.1, warmup_steps=3. Remove one",
        ),
        (
            {"schedule": {"name": "cosine", "plateau": {}}},
            "needs name='reduce_on_plateau'. Received: name='cosine'",
        ),
        (
            {
                "schedule": {"name": "reduce_on_plateau", "plateau": {"patience_epochs": 3}},
                "early_stopping": {"patience_epochs": 2},
            },
            "before the rate falls. Received: 3 and 2",
        ),
        (
            {"optimizer": {"name": "adamw", "momentum": 0.9}},
            "sgd alone. Received: momentum=0.9, name='adamw'",
        ),
        (
            {"final_weights": "best", "checkpoints": {"keep_best": 0}},
            "no best checkpoint is kept. Received: checkpoints.keep_best=0",
        ),
        ({"optimizer": {"learning_rate": 0.0}}, "greater than 0"),
        ({"ema_momentum": 1.0}, "less than 1"),
        ({"jit_compile": "yes"}, "jit_compile"),
    ],
)
def test_contradictions_are_refused_with_the_values(values, message):
    with pytest.raises(ValueError, match=message):
        _training(**values)


def test_config_round_trips_through_plain_data():
    training = _training(
        class_weights=[1.0, 2.0], early_stopping={"patience_epochs": 2}, jit_compile=False
    )
    assert config.TrainingConfig.from_dict(training.to_dict()) == training


def test_rate_grows_linearly_with_the_batch():
    optimizer = config.OptimizerConfig(learning_rate=0.1, scale_with_batch=256)
    assert optimizer.peak_rate(64) == pytest.approx(0.025)


def test_rate_without_the_rule_ignores_the_batch():
    assert config.OptimizerConfig(learning_rate=0.1).peak_rate(8192) == 0.1


@pytest.mark.parametrize(
    ("values", "predicts_numbers", "message"),
    [
        ({"loss": "mse"}, False, "one of cross_entropy in a recipe that predicts classes.*mse"),
        ({"loss": "cross_entropy"}, True, "one of mse, mae, huber .* numbers. Received: cross"),
        ({"label_smoothing": 0.1}, True, "classes alone.*label_smoothing=0.1, class_weights=None"),
        (
            {"checkpoints": {"metric": "val_accuracy"}},
            True,
            "checkpoints.metric` must be one of val_loss, val_mae, val_rmse.*: val_accuracy",
        ),
        (
            {"early_stopping": {"metric": "val_mae", "patience_epochs": 2}},
            False,
            "early_stopping.metric` must be one of val_loss, val_accuracy",
        ),
        (
            {
                "schedule": {
                    "name": "reduce_on_plateau",
                    "plateau": {"metric": "val_rmse", "patience_epochs": 2},
                }
            },
            False,
            "schedule.plateau.metric` must be one of",
        ),
    ],
)
def test_settings_of_the_other_kind_of_answers_are_refused(values, predicts_numbers, message):
    with pytest.raises(ValueError, match=message):
        _training(**values).check_answers(predicts_numbers=predicts_numbers)


def test_unset_loss_and_metric_are_those_of_the_answers():
    training = _training()
    assert training.number_loss() == "huber"
    assert training.best_by(predicts_numbers=True) == "val_mae"
    assert training.best_by(predicts_numbers=False) == "val_accuracy"
    training.check_answers(predicts_numbers=True)
    training.check_answers(predicts_numbers=False)
