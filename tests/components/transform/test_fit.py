import numpy as np
import pytest

from components.transform import fit, fitted
from tests.components import input_factories, tfx_factories


def test_the_vocabulary_is_the_most_frequent_words_and_ties_go_by_their_bytes(tmp_path):
    found = fit.fit(input_factories.write_texts(tmp_path), input_factories.TEXT)
    # good 3; bad and food 2; "!", "," and taste 1.
    assert found.words == ("good", "bad", "food", "!")


def test_numbers_have_the_mean_and_deviation_of_what_is_there(tmp_path):
    found = fit.fit(input_factories.write_table(tmp_path), input_factories.TABLE)
    assert list(found.numbers) == ["miles (km)", "fare"]
    assert found.numbers["miles (km)"].mean == 4.0
    assert found.numbers["miles (km)"].deviation == pytest.approx(np.std([1.0, 3.0, 5.0, 7.0]))
    assert found.numbers["fare"].mean == 8.0


def test_categories_are_the_most_frequent_values_without_the_missing_one(tmp_path):
    found = fit.fit(input_factories.write_table(tmp_path), input_factories.TABLE)
    assert found.categories == {"day": ("mon", "tue")}


def test_moments_of_many_batches_are_those_of_all_rows(tmp_path, monkeypatch):
    # Far from zero, where a sum of squares would lose all digits.
    values = np.random.default_rng(0).normal(1e4, 1.0, 500).astype(np.float32)
    rows = [input_factories.table_example(float(value), "mon", 1.0, 0) for value in values]
    shards = [input_factories.write_shard(tmp_path / "shard", rows)]
    monkeypatch.setattr(fit, "_ROWS_PER_BATCH", 7)
    found = fit.fit(shards, input_factories.TABLE).numbers["miles (km)"]
    assert found.mean == pytest.approx(values.astype(np.float64).mean(), rel=1e-12)
    assert found.deviation == pytest.approx(values.astype(np.float64).std(), rel=1e-9)


def test_a_column_of_equal_numbers_has_the_deviation_one(tmp_path):
    rows = [input_factories.table_example(2.0, "mon", 3.0, 0)] * 3
    shards = [input_factories.write_shard(tmp_path / "shard", rows)]
    assert fit.fit(shards, input_factories.TABLE).numbers["fare"].deviation == 1.0


def test_infinity_is_no_number_to_learn_from(tmp_path):
    rows = [input_factories.table_example(miles, "mon", 3.0, 0) for miles in (1.0, np.inf, 3.0)]
    shards = [input_factories.write_shard(tmp_path / "shard", rows)]
    assert fit.fit(shards, input_factories.TABLE).numbers["miles (km)"].mean == 2.0


def test_the_order_of_the_shards_names_does_not_matter(tmp_path):
    shards = input_factories.write_table(tmp_path)
    again = fit.fit(shards[::-1], input_factories.TABLE)
    assert fitted.to_json(again) == fitted.to_json(fit.fit(shards, input_factories.TABLE))


def test_an_empty_column_is_named(tmp_path):
    rows = [input_factories.table_example(np.nan, "", 3.0, 0)]
    shards = [input_factories.write_shard(tmp_path / "shard", rows)]
    with pytest.raises(ValueError, match=r"Received: none in miles \(km\), day. Take them out of"):
        fit.fit(shards, input_factories.TABLE)


def test_texts_without_words_are_refused(tmp_path):
    shards = [input_factories.write_shard(tmp_path / "s", [input_factories.text_example(" ", 0)])]
    with pytest.raises(ValueError, match=r"Received: none. Check data.text.source_name."):
        fit.fit(shards, input_factories.TEXT)


def test_images_are_not_fitted():
    with pytest.raises(ValueError, match=r"Received: data.image. Train without it."):
        fit.fit([], tfx_factories.DATA)


def test_what_is_read_is_what_was_written(tmp_path):
    found = fit.fit(input_factories.write_table(tmp_path), input_factories.TABLE)
    fitted.write(found, tmp_path / "new")
    assert fitted.read(tmp_path / "new") == found
    assert fitted.read_if_there(tmp_path / "new") == found
    assert fitted.read_if_there(tmp_path) is None
