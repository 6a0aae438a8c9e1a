import math

import numpy as np
import pytest

from components.trainer import config, schedule


def _rates(name, *, total_steps=10, warmup_steps=0, peak=2.0):
    made = schedule.WarmupSchedule(
        name=name, peak=peak, total_steps=total_steps, warmup_steps=warmup_steps
    )
    return [float(made(step)) for step in range(total_steps)]


def test_warmup_rises_in_equal_parts_and_wastes_no_step():
    assert _rates("constant", warmup_steps=4)[:5] == [0.5, 1.0, 1.5, 2.0, 2.0]


def test_constant_stays_at_the_peak():
    assert _rates("constant") == [2.0] * 10


def test_linear_would_reach_zero_one_step_after_the_last():
    np.testing.assert_allclose(_rates("linear", warmup_steps=5)[5:], [2.0, 1.6, 1.2, 0.8, 0.4])


def test_cosine_matches_the_formula():
    expected = [1 + math.cos(math.pi * step / 8) for step in range(8)]
    np.testing.assert_allclose(_rates("cosine", warmup_steps=2)[2:], expected, rtol=1e-5)


def test_one_cycle_peaks_after_the_warmup_and_ends_far_below():
    rates = _rates("one_cycle", total_steps=100, warmup_steps=30)
    assert rates[29] == pytest.approx(2.0)
    assert max(rates) == pytest.approx(2.0)
    assert rates[0] < 2.0 / 20
    assert rates[-1] < 2.0 / 500


def test_steps_after_the_last_keep_its_rate():
    made = schedule.WarmupSchedule(name="linear", peak=1.0, total_steps=4, warmup_steps=0)
    assert float(made(7)) == 0.0


def test_share_of_the_run_becomes_steps():
    made = schedule.make_schedule(
        config.ScheduleConfig(name="linear", warmup_share=0.1), peak=1.0, total_steps=59
    )
    assert (made.warmup_steps, made.total_steps) == (5, 59)


def test_warmup_as_long_as_the_run_is_refused():
    with pytest.raises(ValueError, match="Received: warmup_steps=4, total_steps=4"):
        schedule.WarmupSchedule(name="cosine", peak=1.0, total_steps=4, warmup_steps=4)


def test_schedule_comes_back_from_its_config():
    made = schedule.WarmupSchedule(name="cosine", peak=1.0, total_steps=9, warmup_steps=3)
    again = schedule.WarmupSchedule.from_config(made.get_config())
    assert [float(again(step)) for step in range(9)] == [float(made(step)) for step in range(9)]
