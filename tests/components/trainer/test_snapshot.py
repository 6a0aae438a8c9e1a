import numpy as np

from components.trainer import loss_scale, snapshot
from tests.components.trainer import toy


def test_reader_takes_what_every_variable_holds_by_now():
    step = toy.train_step(
        toy.model(), optimizer_name="adamw", ema_momentum=0.9, scale=loss_scale.DynamicLossScale()
    )
    rate = toy.rate()
    reader = snapshot.Reader(step, rate)
    before = reader.take()
    kept = {name: value.copy() for name, value in before.items()}
    step.run(toy.batches(), 3)
    rate.factor.assign(0.5)
    after, expected = reader.take(), snapshot.take(step, rate)
    assert list(after) == list(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)
        assert after[name].dtype == value.dtype and after[name].shape == value.shape
        np.testing.assert_array_equal(before[name], kept[name], err_msg=name)
    assert after["rate_factor/0000"] == 0.5 and after["global_step/0000"] == 3
