"""Splits texts into words, in the graph: training and serving run these same operations.

Axes: B batch; word lists are ragged, (B, words of the text).
"""

import tensorflow as tf

# RE2 knows the classes of Unicode: L letters, M marks, N numbers, Z spaces, C control characters.
_APOSTROPHES = r"(\pL)['\x{2019}]"
_SPACES = r"[\pZ\pC]+"
# Signs are words of their own; so are the characters of scripts that put no spaces between words.
_SINGLE = r"([^\pL\pM\pN\pZ]|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}])"


def split_words(texts_B: tf.Tensor) -> tf.RaggedTensor:
    """Splits texts into lower-case words and single signs.

    An apostrophe after a letter is dropped, so that "don't" is one word. Bytes that are no UTF-8
    become the replacement character.

    Args:
        texts_B: Strings in UTF-8, (B,).

    Returns:
        Ragged strings (B, words).

    >>> words = split_words(tf.constant(["Don't panic, Übung 42!"]))
    >>> [word.decode() for word in words[0].numpy()]
    ['dont', 'panic', ',', 'übung', '42', '!']
    """
    texts_B = valid_utf8(texts_B)
    texts_B = tf.strings.lower(texts_B, encoding="utf-8")
    texts_B = tf.strings.regex_replace(texts_B, _APOSTROPHES, r"\1")
    texts_B = tf.strings.regex_replace(texts_B, _SPACES, " ")
    texts_B = tf.strings.regex_replace(texts_B, _SINGLE, r" \1 ")
    return tf.strings.split(texts_B)


def valid_utf8(values: tf.Tensor) -> tf.Tensor:
    """Replaces bytes that are no UTF-8, so that every value has one spelling in files and graphs.

    Args:
        values: Strings of any shape.
    """
    return tf.strings.unicode_transcode(values, "UTF-8", "UTF-8", errors="replace")
