import keras
import numpy as np
import pytest

from components.trainer import config, optimizer


def _variables():
    return [
        keras.Variable(np.ones((2, 2), "float32"), name="kernel"),
        keras.Variable(np.ones(2, "float32"), name="gamma"),
    ]


@pytest.mark.parametrize("name", ["adamw", "sgd", "adafactor", "lion", "muon"])
def test_decay_shrinks_matrices_and_skips_vectors(name):
    kernel, gamma = _variables()
    settings = config.OptimizerConfig(name=name, learning_rate=0.5, weight_decay=0.1)
    made = optimizer.make_optimizer(settings, 0.5, variables=[kernel, gamma])
    made.apply([np.zeros((2, 2), "float32"), np.zeros(2, "float32")], [kernel, gamma])
    np.testing.assert_allclose(kernel.numpy(), 1 - 0.5 * 0.1, rtol=1e-6)
    np.testing.assert_array_equal(gamma.numpy(), 1.0)


def test_adamw_first_step_is_the_rate_against_the_gradients_sign():
    kernel, gamma = _variables()
    settings = config.OptimizerConfig(name="adamw", weight_decay=0.0)
    made = optimizer.make_optimizer(settings, 0.1, variables=[kernel, gamma])
    made.apply([np.full((2, 2), 3.0, "float32"), np.array([-7.0, 2.0], "float32")], [kernel, gamma])
    np.testing.assert_allclose(kernel.numpy(), 0.9, rtol=1e-5)
    np.testing.assert_allclose(gamma.numpy(), [1.1, 0.9], rtol=1e-5)


def test_sgd_steps_with_nesterov_momentum():
    kernel, gamma = _variables()
    settings = config.OptimizerConfig(name="sgd", weight_decay=0.0, momentum=0.9)
    made = optimizer.make_optimizer(settings, 0.1, variables=[kernel, gamma])
    for _ in range(2):
        made.apply([np.ones((2, 2), "float32"), np.zeros(2, "float32")], [kernel, gamma])
    # Steps of 1 + 0.9 and 1 + 0.9 * (1 + 0.9), each times the rate.
    np.testing.assert_allclose(kernel.numpy(), 1 - 0.1 * (1.9 + 2.71), rtol=1e-5)


def test_schedule_is_computed_once_for_each_step():
    asked = []

    class Counted(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            asked.append(step)
            return 0.1

    variables = _variables() + _variables()
    made = optimizer.make_optimizer(config.OptimizerConfig(), Counted(), variables=variables)
    asked.clear()
    made.apply([np.ones(variable.shape, "float32") for variable in variables], variables)
    assert len(asked) == 1
    assert float(made.learning_rate) == pytest.approx(0.1)
