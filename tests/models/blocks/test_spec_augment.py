import keras
import numpy as np
import pytest

from models.blocks import spec_augment


def _layer(**changes):
    settings = {
        "num_frequency_masks": 1,
        "max_frequency_share": 0.5,
        "num_time_masks": 1,
        "max_time_share": 0.25,
        "seed": 3,
    }
    return spec_augment.SpecAugment(**{**settings, **changes})


def _masked(layer, *, examples=500):
    ones_BTM = np.ones((examples, 20, 8), "float32")
    return keras.ops.convert_to_numpy(layer(ones_BTM, training=True))


def _runs(is_hidden_BS):
    """Returns the width of each row's hidden run, after checking that there is one at most."""
    edges_BS = np.diff(np.pad(is_hidden_BS.astype(int), ((0, 0), (1, 1))), axis=1)
    assert ((edges_BS == 1).sum(1) <= 1).all()
    return is_hidden_BS.sum(1)


@pytest.mark.parametrize(("hidden_axis", "limit"), [("time", 5), ("frequency", 4)])
def test_widths_are_uniform_below_the_limit(hidden_axis, limit):
    off = {"num_frequency_masks": 0} if hidden_axis == "time" else {"num_time_masks": 0}
    masked_BTM = _masked(_layer(**off))
    axis = 2 if hidden_axis == "time" else 1
    counts = np.bincount(_runs((masked_BTM == 0).all(axis)), minlength=limit)
    assert len(counts) == limit
    np.testing.assert_allclose(counts / len(masked_BTM), 1 / limit, atol=0.07)


def test_examples_have_draws_of_their_own():
    masked_BTM = _masked(_layer(), examples=20)
    assert len({each.tobytes() for each in masked_BTM}) > 10


def test_every_place_is_hidden_sometimes():
    hidden_TM = (_masked(_layer()) == 0).mean(0)
    assert (hidden_TM > 0).all() and (hidden_TM < 0.6).all()


def test_nothing_is_hidden_outside_training():
    x_BTM = np.ones((4, 20, 8), "float32")
    np.testing.assert_array_equal(_layer()(x_BTM, training=False), x_BTM)


def test_an_equal_layer_is_made_from_its_config():
    layer = _layer()
    again = spec_augment.SpecAugment.from_config(layer.get_config())
    np.testing.assert_array_equal(_masked(layer), _masked(again))
