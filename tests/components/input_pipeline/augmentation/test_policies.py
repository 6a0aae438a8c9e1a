import numpy as np
import pytest
import tensorflow as tf

from components.input_pipeline.augmentation import policies, policy_tables
from components.input_pipeline.config import AugmentConfig

IMAGES_BHWC = np.random.default_rng(0).integers(0, 256, (200, 6, 8, 3), np.uint8)
SEED_2 = tf.constant([5, 9], tf.int64)


def rand_augment(batch, *, num_operations=2, magnitude=9.0):
    return policies.draw_rand_augment(
        tf.constant(batch), num_operations=num_operations, magnitude=magnitude, seed_2=SEED_2
    )


def test_each_image_gets_its_own_operations_in_turn():
    """One image at a time must give what the whole batch gives."""
    plan = rand_augment(200, magnitude=20.0)
    changed = policies.apply(tf.constant(IMAGES_BHWC), plan).numpy()
    assert set(plan.operation_BL.numpy().ravel()) == {
        policies.NAMES.index(name) for name in policies.RAND_AUGMENT_NAMES
    }
    for number in range(200):
        alone = policies.Plan(*(drawn[number : number + 1] for drawn in plan))
        one = policies.apply(tf.constant(IMAGES_BHWC[number : number + 1]), alone)
        np.testing.assert_array_equal(one[0], changed[number])


def test_rand_augment_draws_its_fourteen_operations_equally_often():
    names = np.array(policies.NAMES)[rand_augment(7000).operation_BL.numpy()]
    found, counts = np.unique(names, return_counts=True)
    assert sorted(found) == sorted(policies.RAND_AUGMENT_NAMES) and len(found) == 14
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)


def test_rand_augment_has_one_magnitude_and_either_sign():
    level_BL = rand_augment(1000, magnitude=15.0).level_BL.numpy()
    np.testing.assert_array_equal(np.abs(level_BL), 0.5)
    assert abs(level_BL.mean()) < 0.05


@pytest.mark.parametrize(("name", "first"), [("imagenet", "posterize"), ("cifar10", "invert")])
def test_policy_has_the_papers_25_sub_policies_of_two_operations(name, first):
    policy = policy_tables.POLICIES[name]
    assert len(policy) == 25 and {len(sub) for sub in policy} == {2}
    assert policy[0][0][0] == first
    for operation, chance, level in (step for sub in policy for step in sub):
        assert operation in policies.NAMES
        assert 0 <= chance <= 1 and 0 <= level <= 9


def test_auto_augment_draws_each_sub_policy_with_its_chances():
    policy = ((("invert", 0.25, 0), ("rotate", 1.0, 9)), (("solarize", 0.0, 3), ("color", 0.5, 4)))
    plan = policies.draw_auto_augment(tf.constant(8000), policy, seed_2=SEED_2)
    names_BL = np.array(policies.NAMES)[plan.operation_BL.numpy()]
    is_first_B = names_BL[:, 1] == "rotate"
    assert abs(is_first_B.mean() - 0.5) < 0.03
    assert abs((names_BL[is_first_B, 0] == "invert").mean() - 0.25) < 0.03
    assert "solarize" not in names_BL
    assert abs((names_BL[~is_first_B, 1] == "color").mean() - 0.5) < 0.03
    np.testing.assert_allclose(np.abs(plan.level_BL[:, 1]), np.where(is_first_B, 1, 4 / 9))


def test_maps_of_a_plan_are_those_that_moved_the_images():
    plan = rand_augment(200)
    is_moved_BL = plan.operation_BL.numpy() >= policies.NAMES.index("shear_x")
    maps = policies.transforms(plan, height_px=60, width_px=80)
    identity = [1, 0, 0, 0, 1, 0, 0, 0]
    for number, transforms_B8 in enumerate(maps):
        is_identity_B = (transforms_B8.numpy() == identity).all(1)
        np.testing.assert_array_equal(is_identity_B, ~is_moved_BL[:, number])


def test_two_policies_at_once_are_refused():
    with pytest.raises(ValueError, match="auto_augment='cifar10'. Remove one"):
        AugmentConfig.from_dict({"auto_augment": "cifar10", "rand_augment": {}})
