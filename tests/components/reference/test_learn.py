"""The simple learners find what they can find, from the rows and with the words of the model."""

import math

import numpy as np

from components.ingest.config import DataConfig
from components.reference import answers, learn, trees, words
from components.transform import fit
from tests.components import input_factories

_NUM_DAYS = 300
TABLE = DataConfig.from_dict(
    {
        **input_factories.TABLE.to_dict(),
        "table": {
            "columns": {
                "miles (km)": {"kind": "number"},
                "day": {"kind": "category", "max_values": _NUM_DAYS},
                "fare": {"kind": "number"},
            }
        },
    }
)


def _trips(num_rows, seed):
    """Trips whose label no single column tells: miles are missing, or the day is the first one."""
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(num_rows):
        miles = math.nan if generator.random() < 0.5 else generator.normal()
        # More names than the trees tell apart.
        day = "d0" if generator.random() < 0.5 else f"d{generator.integers(1, _NUM_DAYS)}"
        rows.append((miles, day, generator.normal(), int(math.isnan(miles) != (day == "d0"))))
    return rows


def _learn(data, folder, train, test, serialize):
    shards = {
        f"{split}_shards": [
            input_factories.write_shard(folder / split, [serialize(*row) for row in rows])
        ]
        for split, rows in (("train", train), ("test", test))
    }
    return learn.learn(data, fit.fit(shards["train_shards"], data), **shards)


def test_trees_learn_from_missing_numbers_and_from_names_together(tmp_path):
    test = _trips(400, seed=1)
    found = _learn(TABLE, tmp_path, _trips(2000, seed=0), test, input_factories.table_example)
    assert (found.name, found.num_train) == ("boosted trees", 2000)
    assert np.mean(found.answers_N == [row[-1] for row in test]) > 0.98


def test_numbers_that_are_mostly_zero_are_learned_as_well(tmp_path):
    generator = np.random.default_rng(0)
    # Tips in cash are not recorded; two of three are paid so.
    rows = [
        (float(generator.uniform(1, 9)), "card" if generator.random() < 0.33 else "cash", 1.0)
        for _ in range(1200)
    ]
    tips = np.array([miles * (day == "card") for miles, day, _ in rows])
    data = DataConfig.from_dict(
        {
            **{key: value for key, value in TABLE.to_dict().items() if key != "label"},
            "target": {"source_name": "tip"},
        }
    )
    examples = [
        input_factories.table_example(*row, tip, answer="target")
        for row, tip in zip(rows, tips, strict=True)
    ]
    train, test = (
        [input_factories.write_shard(tmp_path / name, part)]
        for name, part in (("train", examples[:900]), ("test", examples[900:]))
    )
    found = learn.learn(data, fit.fit(train, data), train_shards=train, test_shards=test)
    error = np.abs(found.answers_N - tips[900:]).mean()
    assert error < 0.1 * np.abs(tips[900:] - np.median(tips[:900])).mean()


def test_rows_of_training_are_bounded_and_taken_evenly(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(trees.Trees, "max_rows", 700)
    monkeypatch.setattr(trees.Trees, "fit", lambda self, batches: seen.extend(batches))
    monkeypatch.setattr(trees.Trees, "answer", lambda self, features_BF: features_BF[:, 0])
    rows = [(float(n), "d0", 0.0, 0) for n in range(2000)]
    found = _learn(TABLE, tmp_path, rows, rows[:5], input_factories.table_example)
    assert found.num_train == sum(len(labels) for _, labels in seen) == 667
    # Every third row, on the scale that the transform learned; all five of test are answered.
    numbers = np.concatenate([features[:, 0] for features, _ in seen])
    expected = (np.arange(0, 2000, 3) - 999.5) / np.std(np.arange(2000))
    np.testing.assert_allclose(numbers, expected, rtol=1e-5, atol=1e-6)
    assert len(found.answers_N) == 5


def test_pairs_of_words_tell_what_single_words_cannot(tmp_path):
    generator = np.random.default_rng(0)
    rows = []
    for _ in range(600):
        label = int(generator.integers(2))
        middle = "not good , bad" if label else "not bad , good"
        noise = [f"w{number}" for number in generator.integers(0, 50, 4)]
        rows.append((" ".join([*noise[:2], middle.upper(), *noise[2:]]), label))
    found = _learn(
        input_factories.TEXT, tmp_path, rows[:400], rows[400:], input_factories.text_example
    )
    assert found.name.startswith("words and pairs")
    assert np.mean(found.answers_N == [label for _, label in rows[400:]]) == 1.0


def test_weights_are_bounded_whatever_the_number_of_classes():
    sizes = [words.Words(num_classes=number).num_features for number in (2, 100)]
    assert sizes[0] == 1 << 18 and sizes[1] * 100 <= 1 << 20


def test_answers_can_be_read_again(tmp_path):
    found = answers.Answers(
        name="trees", advice="Use them.", num_train=7, answers_N=np.array([0.5, 2.0])
    )
    answers.write(found, tmp_path)
    again = answers.read(tmp_path)
    assert (again.name, again.advice, again.num_train) == ("trees", "Use them.", 7)
    np.testing.assert_array_equal(again.answers_N, found.answers_N)
