import re

import pytest
import tensorflow as tf

from components.transform import words


def _split(text):
    return [word.decode() for word in words.split_words(tf.constant([text]))[0].numpy()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Good FOOD", ["good", "food"]),
        ("wow!!", ["wow", "!", "!"]),
        ("don't, dogs\u2019 tails", ["dont", ",", "dogs", "tails"]),
        ("ÜBUNG Straße ΣΑΣ", ["übung", "straße", "σας"]),
        ("a\tb\u00a0c\u2003d\n", ["a", "b", "c", "d"]),
        ("$4.50", ["$", "4", ".", "50"]),
        ("東京は", ["東", "京", "は"]),
        ("cafe\u0301", ["cafe\u0301"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_texts_become_lower_case_words_and_single_signs(text, expected):
    assert _split(text) == expected


def test_english_is_split_as_a_regular_expression_of_python_does():
    text = "We tried it; it's 100% gluten-free (and GOOD)!\nWould buy again..."
    pattern = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")
    assert _split(text) == pattern.findall(text.lower().replace("'", ""))


def test_bytes_that_are_no_utf8_become_the_replacement_character():
    assert _split(b"ok \xff") == ["ok", "\ufffd"]
