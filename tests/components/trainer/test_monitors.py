import json

import pytest

from components.trainer import config, monitors


def test_patience_counts_from_the_best_epoch():
    stopping = monitors.EarlyStopping(config.EarlyStoppingConfig(patience_epochs=2))
    stops = [stopping.should_stop({"val_loss": loss}) for loss in (3.0, 2.0, 2.5, 1.9, 2.0, 1.95)]
    assert stops == [False, False, False, False, False, True]


def test_accuracy_improves_upwards():
    stopping = monitors.EarlyStopping(
        config.EarlyStoppingConfig(metric="val_accuracy", patience_epochs=1)
    )
    assert not stopping.should_stop({"val_accuracy": 0.5})
    assert not stopping.should_stop({"val_accuracy": 0.6})
    assert stopping.should_stop({"val_accuracy": 0.6})


def test_too_small_an_improvement_does_not_count():
    stopping = monitors.EarlyStopping(config.EarlyStoppingConfig(patience_epochs=1, min_delta=0.1))
    assert not stopping.should_stop({"val_loss": 1.0})
    assert stopping.should_stop({"val_loss": 0.95})


@pytest.mark.parametrize("cut", range(6))
def test_state_survives_a_resume_at_any_epoch(cut):
    losses = [1.0, 1.1, 1.2, 0.9, 1.0, 1.1]
    settings = config.PlateauConfig(factor=0.1, patience_epochs=2)
    whole = monitors.Plateau(settings)
    expected = [whole.factor({"val_loss": loss}) for loss in losses]
    first, second = monitors.Plateau(settings), monitors.Plateau(settings)
    factors = [first.factor({"val_loss": loss}) for loss in losses[:cut]]
    second.load(json.loads(json.dumps(first.to_dict())))
    factors += [second.factor({"val_loss": loss}) for loss in losses[cut:]]
    assert factors == expected == [1.0, 1.0, 0.1, 1.0, 1.0, 0.1]


def test_errors_improve_downwards():
    assert monitors.score_of("val_mae", {"val_mae": 2.0}) < monitors.score_of(
        "val_mae", {"val_mae": 1.0}
    )
