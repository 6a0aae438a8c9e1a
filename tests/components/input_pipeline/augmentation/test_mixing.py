import numpy as np
import pytest
import scipy.stats
import tensorflow as tf

from components.input_pipeline.augmentation import mixing
from components.input_pipeline.config import AugmentConfig

NUM_ROWS, NUM_CLASSES = 400, 5
LABELS_B = np.arange(NUM_ROWS) % NUM_CLASSES
# Every image has one value of its own, so that what became of it can be read from the result.
VALUES_K = np.arange(NUM_CLASSES, dtype=np.uint8) * 60
IMAGES_BHWC = np.broadcast_to(VALUES_K[LABELS_B][:, None, None, None], (NUM_ROWS, 16, 8, 1))


def run(step=0, images=IMAGES_BHWC, **config):
    mixed, labels = mixing.mix(
        tf.constant(images),
        tf.constant(LABELS_B),
        AugmentConfig(**config),
        num_classes=NUM_CLASSES,
        seed_2=tf.constant([1, step], tf.int64),
    )
    return mixed.numpy(), labels.numpy()


def test_mixup_mixes_pixels_and_labels_by_the_same_weight():
    mixed, labels_BK = run(mixup_alpha=0.4)
    assert (np.ptp(mixed, axis=(1, 2, 3)) == 0).all()
    np.testing.assert_allclose(mixed[:, 0, 0, 0], labels_BK @ VALUES_K, atol=0.51)
    np.testing.assert_allclose(labels_BK.sum(1), 1, atol=1e-6)


def test_mixup_weights_are_drawn_from_beta_for_each_example():
    weights_B = mixing.draw_beta(0.4, tf.constant(5000), tf.constant([3, 4], tf.int64)).numpy()
    assert scipy.stats.kstest(weights_B, scipy.stats.beta(0.4, 0.4).cdf).pvalue > 1e-3


def test_mixup_keeps_each_examples_own_label_at_its_weight():
    _, labels_BK = run(mixup_alpha=0.4)
    own = labels_BK[np.arange(NUM_ROWS), LABELS_B]
    is_mixed = (labels_BK > 0).sum(1) == 2
    # A partner of the same class, one in five, leaves the label whole.
    assert 0.7 < is_mixed.mean() < 0.9
    assert abs(own[is_mixed].mean() - 0.5) < 0.1


def test_every_example_is_the_partner_of_one_other():
    _, labels_BB = mixing.mixup(
        tf.constant(IMAGES_BHWC), tf.eye(NUM_ROWS), alpha=1.0, seed_2=tf.constant([1, 2], tf.int64)
    )
    # An example that is its own partner keeps the whole of its label.
    assert ((labels_BB.numpy() > 0).sum(0) <= 2).all()
    assert ((labels_BB.numpy() > 0).sum(1) == 2).mean() > 0.98


def test_cutmix_mixes_labels_by_the_true_area_of_one_rectangle():
    mixed, labels_BK = run(cutmix_alpha=1.0)
    own = IMAGES_BHWC[:, :1, :1, 0]
    is_other_BHW = mixed[..., 0] != own
    np.testing.assert_allclose(
        labels_BK[np.arange(NUM_ROWS), LABELS_B], 1 - is_other_BHW.mean((1, 2)), atol=1e-6
    )
    box_area = is_other_BHW.any(2).sum(1) * is_other_BHW.any(1).sum(1)
    np.testing.assert_array_equal(box_area, is_other_BHW.sum((1, 2)))
    np.testing.assert_allclose(labels_BK.sum(1), 1, atol=1e-6)


def test_cutmix_rectangles_have_the_papers_area_before_they_are_cut_off():
    """Of an image of 1 x n px, the rectangle's length alone can be compared with the paper's."""
    wide = np.broadcast_to(IMAGES_BHWC[:, :1, :1], (NUM_ROWS, 1, 1000, 1))
    mixed, _ = run(images=wide, cutmix_alpha=1.0)
    length = (mixed[:, 0, :, 0] != wide[:, 0, :1, 0]).mean(1)
    generator = np.random.default_rng(0)
    part = np.sqrt(1 - generator.beta(1, 1, 100_000))
    centre = generator.random(100_000)
    clipped = np.minimum(centre + part / 2, 1) - np.maximum(centre - part / 2, 0)
    # The rectangle of one row shows only if it covers the row's middle.
    row_centre = generator.random(100_000)
    expected = clipped[np.abs(0.5 - row_centre) < part / 2]
    assert scipy.stats.ks_2samp(length[length > 0], expected).pvalue > 0.01


def test_with_both_each_batch_is_mixed_by_one_of_them():
    kinds = []
    for step in range(40):
        mixed, _ = run(step=step, mixup_alpha=1.0, cutmix_alpha=1.0)
        kinds.append((np.ptp(mixed, axis=(1, 2, 3)) > 0).any())
    assert 8 < sum(kinds) < 32


def test_other_steps_are_mixed_otherwise():
    assert not np.array_equal(run(step=0, mixup_alpha=1.0)[1], run(step=1, mixup_alpha=1.0)[1])


def test_tiny_alpha_leaves_no_label_without_a_number():
    _, labels_BK = run(mixup_alpha=1e-4)
    assert np.isfinite(labels_BK).all()
    np.testing.assert_allclose(labels_BK.sum(1), 1, atol=1e-6)


@pytest.mark.parametrize("name", ["mixup_alpha", "cutmix_alpha"])
def test_negative_alpha_is_refused(name):
    with pytest.raises(ValueError, match=name):
        AugmentConfig.from_dict({name: -0.1})
