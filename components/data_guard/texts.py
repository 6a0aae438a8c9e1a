"""Texts: words that tell the label, and splits with other words.

Legend: R texts, W words.
"""

import collections
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from components.data_guard import rules, shifts
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import SPLITS, Dataset
from components.data_guard.findings import Finding
from components.ingest.features.config import LABEL_FEATURE, TEXT_FEATURE
from components.ingest.fingerprint_texts import split_words

_SAMPLE_ROWS = 20_000
# A word in fewer texts of training tells little.
_MIN_TEXTS = 5
# Training is divided into as many parts as this to see how much words differ by chance.
_NUM_PARTS = 8
_DEVIATIONS = 5.0
_MAX_NAMED = 5


class Texts(NamedTuple):
    """A sample of the texts of a split."""

    words: list[list[str]]
    labels_R: np.ndarray  # Empty if numbers are predicted.


def find_text_findings(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Looks at the words of up to 20,000 texts of each split."""
    samples = {split: _read(dataset, split) for split in SPLITS}
    return [
        *_find_telling_words(dataset, config, samples),
        *_find_vocabulary_shift(dataset, config, samples),
    ]


def _read(dataset: Dataset, split: str) -> Texts:
    words, labels = [], []
    for record in dataset.records(split, _SAMPLE_ROWS):
        found = split_words(record[TEXT_FEATURE][0].decode("utf-8", "replace"))
        # Kept once for all texts that hold it.
        words.append([sys.intern(word) for word in found])
        labels += record.get(LABEL_FEATURE, [])
    return Texts(words, np.array(labels, np.int64))


def _find_telling_words(
    dataset: Dataset, config: DataGuardConfig, samples: dict[str, Texts]
) -> list[Finding]:
    train, validation = samples["train"], samples["validation"]
    if not len(train.labels_R) or not len(validation.labels_R):
        return []
    class_names = dataset.layout.class_names
    tellers = _best_words(train, class_names)
    answers = rules.Answers(train.labels_R, validation.labels_R, len(class_names))
    train_cells, validation_cells = (
        _first_teller(texts.words, tellers, class_names) for texts in (train, validation)
    )
    avoided = rules.score_cells(train_cells, validation_cells, answers, len(tellers) + 1).avoided
    if avoided <= config.max_target_leak:
        return []
    shown = ", ".join(f'"{word}"' for word in tellers[:_MAX_NAMED])
    return [
        Finding(
            name="target_leak",
            amount=avoided,
            limit=config.max_target_leak,
            sentence=f"Whether texts hold {shown} alone avoids {avoided:.1%} of a guess's errors.",
            cure="Take these words out of the texts if they came there together with the label.",
        )
    ]


def _best_words(train: Texts, class_names: Sequence[str]) -> list[str]:
    """Returns of each class the word that tells it best, the most reliable one first."""
    counts: dict[str, np.ndarray] = {}
    for words, label in zip(train.words, train.labels_R, strict=True):
        for word in _marks(words, class_names):
            if word not in counts:
                counts[word] = np.zeros(len(class_names), np.int64)
            counts[word][label] += 1
    words = [word for word in counts if counts[word].sum() >= _MIN_TEXTS]
    if not words:
        return []
    table_WK = np.stack([counts[word] for word in words])
    # Texts of the class with the word, less texts of all others with it.
    gains_WK = 2 * table_WK - table_WK.sum(1, keepdims=True)
    best_K = gains_WK.argmax(0)
    reliability_K = table_WK[best_K].max(1) / table_WK[best_K].sum(1)
    return [words[best_K[k]] for k in np.argsort(-reliability_K, kind="stable")]


def _marks(words: Sequence[str], class_names: Sequence[str]) -> set[str]:
    """Returns the words of a text, and the names of classes of several words that it holds."""
    text = f" {' '.join(words)} "
    names = (" ".join(split_words(name)) for name in class_names)
    return set(words) | {name for name in names if name and f" {name} " in text}


def _first_teller(
    texts: Iterable[Sequence[str]], tellers: Sequence[str], class_names: Sequence[str]
) -> np.ndarray:
    """Returns of each text the index of the first teller that it holds, or one beyond the last."""
    found = []
    for words in texts:
        marks = _marks(words, class_names)
        places = (place for place, teller in enumerate(tellers) if teller in marks)
        found.append(next(places, len(tellers)))
    return np.array(found, np.int64)


def _find_vocabulary_shift(
    dataset: Dataset, config: DataGuardConfig, samples: dict[str, Texts]
) -> list[Finding]:
    found = []
    for split in SPLITS[1:]:
        distance, usual, words = _vocabulary_distance(samples["train"].words, samples[split].words)
        if distance <= usual:
            continue
        found.append(
            Finding(
                name="vocabulary_shift",
                amount=distance - usual,
                limit=shifts.limit(dataset, config.max_vocabulary_shift),
                sentence=f"The words of {split} differ from train's by {distance:.1%}, where "
                f"parts of train differ by up to {usual:.1%}; most {', '.join(words)}.",
                cure="Find out whether these texts come from elsewhere or from another time.",
            )
        )
    return found


def _vocabulary_distance(
    train: Sequence[list[str]], other: Sequence[list[str]]
) -> tuple[float, float, list[str]]:
    """Compares the words of texts with those of parts of training with as many texts.

    Returns:
        The mean distance to a part; the bound of it among the parts themselves; and the words that
        differ most.
    """
    size = min(len(other), len(train) // _NUM_PARTS)
    if size == 0:
        return 0.0, 0.0, []
    parts = [_shares(train[part::_NUM_PARTS][:size]) for part in range(_NUM_PARTS)]
    seen = _shares(other[:: len(other) // size][:size])
    among = [_distance(parts[index - 1], part) for index, part in enumerate(parts)]
    distance = float(np.mean([_distance(part, seen) for part in parts]))
    usual = float(np.mean(among) + _DEVIATIONS * np.std(among))
    mean = collections.Counter[str]()
    for part in parts:
        mean.update({word: share / len(parts) for word, share in part.items()})
    gaps = {word: abs(mean[word] - seen[word]) for word in mean | seen}
    return distance, usual, sorted(gaps, key=lambda word: (-gaps[word], word))[:_MAX_NAMED]


def _shares(texts: Sequence[list[str]]) -> "collections.Counter[str]":
    counts = collections.Counter(word for words in texts for word in words)
    total = max(1, counts.total())
    return collections.Counter({word: count / total for word, count in counts.items()})


def _distance(first: "collections.Counter[str]", second: "collections.Counter[str]") -> float:
    return sum(abs(first[word] - second[word]) for word in first | second) / 2
