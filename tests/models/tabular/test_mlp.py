from models import config
from models.blocks import heads
from models.tabular import mlp


def _build(**settings):
    return mlp.build(
        config.MlpConfig(architecture="mlp", **settings),
        image_shape=(8, 8, 1),
        head=heads.Classes(num_classes=10),
    )


def test_parameter_count_by_hand():
    assert _build(hidden_units=(32, 16)).count_params() == (64 * 32 + 32) + (32 * 16 + 16) + 170


def test_hidden_layers_use_the_initialiser_that_fits_relu():
    kernel = _build(hidden_units=(512,)).get_layer("hidden1").kernel.numpy()
    # He et al. 2015: variance 2 / inputs.
    assert abs(kernel.var() - 2 / 64) < 0.002
