from components.trainer import loss_scale


def test_scale_doubles_after_enough_finite_steps_and_counts_again():
    scale = loss_scale.DynamicLossScale(initial_scale=8.0, growth_steps=3)
    values = []
    for _ in range(6):
        scale.grow()
        values.append(float(scale.scale))
    assert values == [8.0, 8.0, 16.0, 16.0, 16.0, 32.0]


def test_overflow_halves_the_scale_and_starts_the_count_again():
    scale = loss_scale.DynamicLossScale(initial_scale=8.0, growth_steps=3)
    scale.grow()
    scale.grow()
    scale.shrink()
    assert (float(scale.scale), int(scale.good_steps)) == (4.0, 0)
