"""Texts and tables go through the same chain as images: in order, resumable, from memory or not."""

import numpy as np
import pytest
import tensorflow as tf

from components.input_pipeline import chain, decoding
from components.input_pipeline.config import InputConfig
from components.transform import fit
from tests.components import input_factories


@pytest.fixture(scope="module", params=["text", "table"])
def kind(request, tmp_path_factory):
    """The shards of one kind of input, and its decoder."""
    folder = tmp_path_factory.mktemp(request.param)
    write = getattr(input_factories, {"text": "write_texts", "table": "write_table"}[request.param])
    data = getattr(input_factories, request.param.upper())
    shards = write(folder)
    return shards, decoding.Decoder(data, fit.fit(shards, data))


def _batches(kind, *, cache="memory", **options):
    shards, decode = kind
    config = InputConfig(cache=cache)
    dataset = chain.train_dataset(
        shards, decode=decode, input_config=config, global_batch_size=3, seed=5, **options
    )
    return [tf.nest.flatten(batch) for batch in dataset.as_numpy_iterator()]


def _assert_equal(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for array, wanted in zip(one, other, strict=True):
            np.testing.assert_array_equal(array, wanted)


def test_reading_each_time_gives_what_memory_gives(kind):
    _assert_equal(_batches(kind, cache="none", num_steps=5), _batches(kind, num_steps=5))


def test_a_later_start_sees_what_the_whole_run_saw(kind):
    whole = _batches(kind, num_steps=6)
    _assert_equal(_batches(kind, start_step=4, num_steps=2), whole[4:])


def test_evaluation_sees_each_example_once_and_masks_the_rest(kind):
    shards, decode = kind
    num_rows = chain.count_examples(shards)
    dataset = chain.eval_dataset(shards, decode=decode, global_batch_size=3)
    batches = list(dataset.as_numpy_iterator())
    weights = np.concatenate([weights for _, _, weights in batches])
    assert weights.tolist() == [1.0] * num_rows + [0.0] * (-num_rows % 3)
    labels = np.concatenate([labels for _, labels, _ in batches])[:num_rows]
    rows = input_factories.REVIEWS if num_rows == 4 else input_factories.TRIPS
    assert labels.tolist() == [row[-1] for row in rows]
