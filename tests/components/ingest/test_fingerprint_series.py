import numpy as np
import pytest

from components.ingest import fingerprint_series


def test_level_and_spread_are_of_each_channel_and_leave_missing_values_out():
    history = [1.0, 50.0, float("nan"), 50.0, 5.0, 50.0, 3.0, 50.0]
    levels, spreads, _ = fingerprint_series.window_looks([history], 2)
    np.testing.assert_allclose(levels, [[3.0, 50.0]])
    np.testing.assert_allclose(spreads, [[np.std([1, 5, 3]), 0.0]], rtol=1e-6)


def test_a_channel_without_values_has_no_level():
    levels, spreads, shapes = fingerprint_series.window_looks([[1.0, np.nan, 2.0, np.nan]], 2)
    assert np.isnan([levels[0, 1], spreads[0, 1]]).all() and np.isfinite(shapes).all()


@pytest.mark.parametrize("noise", [0.05, 0.5, 2.0])
def test_distances_of_shapes_tell_the_correlation(noise):
    generator = np.random.default_rng(0)
    pasts = generator.normal(size=(200, 96))
    others = pasts + generator.normal(0, noise, pasts.shape)
    shapes = [fingerprint_series.window_looks(found, 1)[2] for found in (pasts, others)]
    distances = np.square(shapes[0] - shapes[1]).sum(1)
    correlations = [np.corrcoef(pair)[0, 1] for pair in zip(pasts, others, strict=True)]
    expected = 2 - 2 * np.array(correlations)
    assert np.mean(distances) == pytest.approx(np.mean(expected), rel=0.05)
    assert np.std(distances / expected) < 0.3


def test_a_large_level_hides_no_small_change():
    steps = np.sin(np.arange(48.0))
    _, spreads, shapes = fingerprint_series.window_looks([steps, steps + 1e6], 1)
    np.testing.assert_allclose(spreads[0], spreads[1], rtol=1e-6)
    np.testing.assert_allclose(shapes[0], shapes[1], atol=1e-6)
