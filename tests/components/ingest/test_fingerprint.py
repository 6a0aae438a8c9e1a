import hashlib

import numpy as np
import pytest

from components.ingest import fingerprint, fingerprint_texts, ingest
from components.ingest.sources.base import Row
from tests.components import data_factories

TABLE = fingerprint.Layout(
    input_name="table",
    answer_name="target",
    numbers=("miles", "fare"),
    categories=("company",),
)


def test_every_row_has_its_fingerprint_in_the_order_of_its_shard(tmp_path):
    source = data_factories.write_idx_dataset(tmp_path / "source")
    data = data_factories.data_config()
    dataset = ingest.ingest_source(source, data, seed=0, cache_dir=tmp_path / "cache")
    layout = fingerprint.Layout.read(dataset.path)
    path = dataset.path / "fingerprints" / "test-00000"
    found = fingerprint.read_fingerprints(path, layout)
    images, labels = data_factories.random_images(60, seed=60)
    assert found["label"].tolist() == labels.tolist()
    expected = [hashlib.sha256(image.tobytes()).digest()[:8] for image in images]
    assert [value.tobytes() for value in found["content"]] == expected


def encode(*features: dict[str, object], layout: fingerprint.Layout = TABLE, **row) -> np.ndarray:
    rows = [Row("key", values, None, b"content", **row) for values in features]
    return fingerprint.encode_rows(rows, layout)


def test_missing_values_of_a_table_are_told_from_zero_and_from_each_other():
    found = encode(
        {"miles": 0.0, "fare": None, "company": b"Blue", "target": 1.0},
        {"miles": [], "fare": 2.5, "company": b"", "target": 2.0},
    )
    np.testing.assert_array_equal(found["numbers"], [[0, np.nan], [np.nan, 2.5]])
    assert found["categories"][0] != fingerprint.MISSING == found["categories"][1]
    assert found["target"].tolist() == [1.0, 2.0]


def test_rows_with_equal_columns_have_equal_content_whatever_else_they_hold():
    row = {"miles": 1.0, "fare": 2.0, "company": b"Blue", "target": 1.0}
    found = encode(row, {**row, "target": 5.0, "note": b"x"}, {**row, "miles": 1.5})["content"]
    assert found[0] == found[1] != found[2]


def test_columns_and_single_rows_give_the_same_fingerprints():
    rows = [
        {"miles": 1.0, "fare": None, "company": b"Blue", "target": 1.0},
        {"miles": -0.0, "fare": 2.5, "company": None, "target": 1.0},
    ]
    looks = fingerprint.table_looks(
        {"miles": np.float32([1, 0]), "fare": np.float32([np.nan, 2.5])},
        {"company": ([b"Red", b"Blue"], np.array([1, -1]))},
    )
    by_columns = [Row("key", {"target": 1.0}, None, b"content", look) for look in looks]
    assert fingerprint.encode_rows(by_columns, TABLE).tobytes() == encode(*rows).tobytes()
    expected = [hashlib.sha256(look).digest()[:8] for look in looks]
    assert [value.tobytes() for value in encode(*rows)["content"]] == expected


def test_rows_of_a_group_share_its_hash_and_rows_without_have_none():
    row = {"miles": 1.0, "fare": 2.0, "company": b"Blue", "target": 1.0}
    first, second = encode(row, row, group=b"anna")["group"]
    assert first == second != encode(row, group=b"bert")["group"][0] != fingerprint.MISSING
    assert encode(row)["group"][0] == fingerprint.MISSING
    assert encode(row, time=7)["time"][0] == 7 and np.isnan(encode(row)["time"][0])


def test_fingerprints_are_the_same_however_they_are_buffered(tmp_path):
    rows = [
        Row("key", {"miles": float(index), "fare": 1.0, "company": b"x", "target": 1.0}, None, b"c")
        for index in range(600)
    ]
    writer = fingerprint.FingerprintWriter(tmp_path / "shard", TABLE)
    for row in rows:
        writer.add(row)
    writer.close()
    found = fingerprint.read_fingerprints(tmp_path / "shard", TABLE)
    assert found.tobytes() == fingerprint.encode_rows(rows, TABLE).tobytes()
    part = fingerprint.read_fingerprints(tmp_path / "shard", TABLE, start=300, count=5)
    assert part.tobytes() == found[300:305].tobytes()


def jaccard(first: str, second: str) -> float:
    pairs = []
    for text in (first, second):
        words = fingerprint_texts.split_words(text)
        pairs.append(set(zip(words, [*words[1:], ""], strict=True)))
    return len(pairs[0] & pairs[1]) / len(pairs[0] | pairs[1])


def test_equal_numbers_of_signatures_estimate_the_share_of_common_word_pairs():
    generator = np.random.default_rng(0)
    words = [f"w{number}" for number in range(2000)]
    errors = []
    for count in range(200):
        first = generator.choice(words, 60)
        second = first.copy()
        second[generator.integers(0, 60, count % 30)] = "changed"
        texts = [" ".join(first), " ".join(second)]
        signatures, _ = fingerprint_texts.minhash(texts)
        errors.append((signatures[0] == signatures[1]).mean() - jaccard(*texts))
    assert abs(np.mean(errors)) < 0.01 and np.std(errors) < 0.5 / 64**0.5 * 1.2


def test_case_spaces_and_punctuation_do_not_change_a_signature():
    signatures, num_words = fingerprint_texts.minhash(["Good, fine  day!", "good fine day"])
    np.testing.assert_array_equal(signatures[0], signatures[1])
    assert num_words.tolist() == [3, 3]


@pytest.mark.parametrize("empty", ["", " ", "?!"])
def test_a_text_without_words_has_none_wherever_it_stands(empty):
    texts = [empty, "one day", empty, "one", empty]
    signatures, num_words = fingerprint_texts.minhash(texts)
    assert num_words.tolist() == [0, 2, 0, 1, 0] and not signatures[[0, 2, 4]].any()
    np.testing.assert_array_equal(signatures[1], fingerprint_texts.minhash(["one day"])[0][0])


def test_long_texts_have_the_same_signature_in_any_batch():
    texts = [" ".join(f"{row}w{word}" for word in range(9000)) for row in range(4)]
    together, _ = fingerprint_texts.minhash(texts)
    alone = [fingerprint_texts.minhash([text])[0][0] for text in texts]
    np.testing.assert_array_equal(together, alone)


def test_chinese_counts_by_characters():
    assert fingerprint_texts.split_words("很好 ok") == ["很", "好", "ok"]
