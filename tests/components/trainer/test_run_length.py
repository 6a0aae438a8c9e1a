import pytest

from components.ingest import errors
from components.trainer import config, run_length


def _training(**values):
    return config.TrainingConfig.from_dict({"num_epochs": 3, "global_batch_size": 10, **values})


def test_part_of_a_batch_is_no_step():
    assert run_length.steps_per_epoch(_training(), num_examples=39) == 3


def test_batch_larger_than_the_training_split_is_refused():
    with pytest.raises(errors.BadRecipeError, match="size=10, examples=9. Nearest valid size: 9"):
        run_length.check(_training(), num_examples=9)


def test_warmup_that_leaves_no_step_is_refused():
    training = _training(schedule={"warmup_steps": 12})
    with pytest.raises(errors.BadRecipeError, match="warmup_steps=12, run=12 steps. Lower it"):
        run_length.check(training, num_examples=49)


def test_warmup_that_leaves_one_step_is_allowed():
    run_length.check(_training(schedule={"warmup_steps": 11}), num_examples=49)


def test_warmup_is_a_twentieth_of_the_run_if_nothing_is_set():
    assert run_length.warmup_steps(config.ScheduleConfig(), total_steps=1000) == 50
