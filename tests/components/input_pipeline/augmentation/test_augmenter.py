import numpy as np
import pytest
import tensorflow as tf

from components.input_pipeline.augmentation import augmenter
from components.input_pipeline.config import InputConfig
from models import inputs

SEED_2 = tf.constant([1, 2], tf.int64)
IMAGE = inputs.ImageInput(height_px=4, width_px=4, channels=1)
TEXT = inputs.TokensInput(vocabulary_size=9, max_tokens=5)
SERIES = inputs.SeriesInput(history_steps=8, num_channels=1)
TABLE = inputs.TableInput(numbers=("age",), categories={})


@pytest.mark.parametrize(
    ("spec", "config", "batch"),
    [
        (IMAGE, {"augment": {"brightness": 0.5}}, tf.fill((3, 4, 4, 1), tf.constant(9, tf.uint8))),
        (TEXT, {"augment_text": {"dropout_probability": 0.9}}, tf.fill((3, 5), 4)),
        (SERIES, {"augment_series": {"jitter": 0.5}}, tf.reshape(tf.range(24.0), (3, 8, 1))),
    ],
    ids=["image", "text", "series"],
)
def test_each_kind_is_changed_by_its_own_table_and_keeps_its_type(spec, config, batch):
    augment = augmenter.make_augmenter(InputConfig.from_dict(config), spec)
    changed, answers = augment(batch, tf.constant([[1.0]] * 3), SEED_2)
    assert (changed.dtype, changed.shape) == (batch.dtype, batch.shape)
    assert not np.array_equal(changed, batch)
    np.testing.assert_array_equal(answers, [[1.0]] * 3)


@pytest.mark.parametrize("spec", [IMAGE, TEXT, SERIES, TABLE])
def test_without_settings_there_is_nothing_to_do(spec):
    assert augmenter.make_augmenter(InputConfig(), spec) is None


@pytest.mark.parametrize(
    ("config", "table"),
    [
        ({"augment": {"horizontal_flip": True}}, "augment"),
        ({"augment": {"mixup_alpha": 0.2}}, "augment"),
        ({"augment_audio": {"max_shift_share": 0.1}}, "augment_audio"),
    ],
)
def test_table_of_another_kind_is_refused(config, table):
    with pytest.raises(ValueError, match=f"input.{table} changes .* Received: the input 'text'"):
        augmenter.make_augmenter(InputConfig.from_dict(config), TEXT)
