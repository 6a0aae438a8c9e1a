"""What training, evaluation and serving share.

Axes: B batch.
"""

import math

import numpy as np
import pytest
import tensorflow as tf

from components.ingest.features import config
from components.input_pipeline import decoding
from components.transform import apply, fit, served
from models import inputs
from tests.components import input_factories, tfx_factories


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """What was fitted on the trips."""
    shards = input_factories.write_table(tmp_path_factory.mktemp("table"))
    return fit.fit(shards, input_factories.TABLE)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """What was fitted on the reviews: good, bad, food, !."""
    shards = input_factories.write_texts(tmp_path_factory.mktemp("text"))
    return fit.fit(shards, input_factories.TEXT)


def _columns(miles, days, fares):
    return {
        "miles (km)": tf.constant(miles, tf.float32),
        "day": tf.constant(days),
        "fare": tf.constant(fares, tf.float32),
    }


def test_words_become_ids_padded_and_cut_to_one_length(text):
    function = apply.make_apply(input_factories.TEXT, text)
    texts = ["Food, good!", "", "bad bad bad bad bad bad"]
    token_ids = function({"text": tf.constant(texts)})
    assert token_ids.dtype == tf.int32
    assert token_ids.numpy().tolist() == [[4, 1, 2, 5, 0], [0] * 5, [3] * 5]
    assert function.inputs == inputs.TokensInput(vocabulary_size=6, max_tokens=5)


def test_numbers_are_standardised_and_missing_ones_are_told_apart_from_the_mean(table):
    function = apply.make_apply(input_factories.TABLE, table)
    found = function(_columns([4.0, math.nan, 9.0], ["mon"] * 3, [8.0, math.inf, 10.0]))
    deviation = np.std([1.0, 3.0, 5.0, 7.0])
    np.testing.assert_allclose(found["numbers"][:, 0], [0.0, 0.0, 5.0 / deviation], rtol=1e-6)
    assert found["is_missing"].numpy().tolist() == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def test_categories_become_ids_of_missing_other_and_known_values(table):
    function = apply.make_apply(input_factories.TABLE, table)
    found = function(_columns([1.0] * 4, ["", "sun", "mon", "tue"], [1.0] * 4))
    assert found["category_ids"].numpy().tolist() == [[0], [1], [2], [3]]
    assert function.inputs.categories == {"day": 4}


def test_examples_with_missing_values_of_both_kinds_are_decoded(table):
    rows = [
        input_factories.table_example(math.nan, "", 8.0, 1, is_empty_list=is_empty)
        for is_empty in (True, False)
    ]
    found, labels = decoding.Decoder(input_factories.TABLE, table)(tf.constant(rows))
    assert labels.numpy().tolist() == [1, 1]
    assert found["is_missing"].numpy().tolist() == [[1.0, 0.0]] * 2
    assert found["category_ids"].numpy().tolist() == [[0], [0]]


@pytest.mark.parametrize("kind", ["text", "table"])
def test_a_chain_and_a_saved_graph_give_the_same_bits(kind, text, table, tmp_path):
    data = getattr(input_factories, kind.upper())
    learned = {"text": text, "table": table}[kind]
    rows = (
        [input_factories.text_example(*row) for row in input_factories.REVIEWS]
        if kind == "text"
        else [input_factories.table_example(*row) for row in input_factories.TRIPS]
    )
    decode = decoding.Decoder(data, learned)
    chain = tf.data.Dataset.from_tensor_slices(rows).batch(2).map(decode)
    preprocess = served.Preprocess(data, learned)
    specs = {name: tf.TensorSpec((None,), spec.dtype) for name, spec in preprocess.specs.items()}
    preprocess.graph = tf.function(preprocess, input_signature=[specs])
    tf.saved_model.save(preprocess, str(tmp_path))
    graph = tf.saved_model.load(str(tmp_path)).graph
    for (expected, _), start in zip(chain, range(0, len(rows), 2), strict=False):
        values = preprocess.parse(tf.constant(rows[start : start + 2]))
        tf.nest.map_structure(tf.debugging.assert_equal, graph(values), expected)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (input_factories.TEXT, r"data.text needs what was fitted for it. Received: None"),
        (input_factories.TABLE, r"data.table needs what was fitted for it. Received: None"),
    ],
)
def test_an_input_without_what_it_needs_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        apply.make_apply(data, None)


def test_what_was_fitted_for_a_table_does_not_serve_an_image(table):
    with pytest.raises(ValueError, match=r"data.image needs .* Received: 'table'"):
        apply.make_apply(tfx_factories.DATA, table)


def test_recordings_become_samples_of_one_length():
    audio = config.AudioFeature(sample_rate_hz=8000, max_seconds=0.5)
    data = input_factories.TEXT.model_copy(update={"text": None, "audio": audio})
    function = apply.make_apply(data, None)
    assert function.inputs == inputs.AudioInput(num_samples=4000, sample_rate_hz=8000)
    encoded = tf.audio.encode_wav(tf.fill((100, 1), 0.5), 8000)
    samples_BN = function({"audio": encoded[None]})
    assert samples_BN.shape == (1, 4000)
    np.testing.assert_allclose(samples_BN.numpy()[0, [0, 99, 100]], [0.5, 0.5, 0.0], atol=1e-4)


def test_recordings_are_served_as_samples_as_files_and_in_examples():
    audio = config.AudioFeature(sample_rate_hz=8000, max_seconds=0.5)
    data = input_factories.TEXT.model_copy(update={"text": None, "audio": audio})
    found = served.served_input(data, None).entries
    assert {name: list(entry.specs) for name, entry in found.items()} == {
        "serving_default": ["audio"],
        "serve_bytes": ["audio_bytes"],
        "serve_examples": ["examples"],
    }
