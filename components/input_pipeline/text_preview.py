"""What augmentation does to texts, to read before training.

Legend: B texts, T words of the longest.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from components.input_pipeline import preview
from components.input_pipeline.augmentation import augmenter, tokens
from components.input_pipeline.config import InputConfig
from models import inputs

UNKNOWN_WORD = "[UNK]"


def changed_texts(texts: Sequence[str], config: InputConfig, *, seed: int) -> dict[str, list[str]]:
    """Returns the texts as each setting alone changes them, and as all together do.

    Words are what spaces divide, and the vocabulary is that of the texts: a replaced word is one of
    theirs.

    Args:
        texts: What to change.
        config: The recipe's `[input]`.
        seed: The recipe's seed.
    """
    words = [text.split() for text in texts]
    vocabulary = sorted({word for found in words for word in found})
    first_id = tokens.UNKNOWN_ID + 1
    ids = {word: first_id + index for index, word in enumerate(vocabulary)}
    spec = inputs.TokensInput(
        max_tokens=max(map(len, words)), vocabulary_size=first_id + len(vocabulary)
    )
    ids_BT = np.full((len(texts), spec.max_tokens), tokens.PADDING_ID, np.int32)
    for row, found in zip(ids_BT, words, strict=True):
        row[: len(found)] = [ids[word] for word in found]
    names = ["", UNKNOWN_WORD, *vocabulary]
    return {
        title: [
            " ".join(names[index] for index in row if index != tokens.PADDING_ID)
            for row in _changed(ids_BT, alone, spec, seed=seed)
        ]
        for title, alone in preview.settings_alone_and_together(config, spec.kind).items()
    }


def _changed(
    ids_BT: np.ndarray, config: InputConfig, spec: inputs.TokensInput, *, seed: int
) -> np.ndarray:
    augment = augmenter.make_augmenter(config, spec)
    if augment is None:
        return ids_BT
    answers = tf.zeros(len(ids_BT), tf.int64)
    changed, _ = augment(tf.constant(ids_BT), answers, tf.constant([seed, 0], tf.int64))
    return changed.numpy()
