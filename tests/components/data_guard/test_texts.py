import numpy as np
import pytest

from components.data_guard import duplicates, near, texts
from components.data_guard.config import DataGuardConfig
from tests.components.data_guard import guard_data

CONFIG = DataGuardConfig()
GENERATOR = np.random.default_rng(3)


@pytest.fixture
def corpus():
    return guard_data.clean_texts()


def near_pairs(dataset):
    return near.find_near_pairs(dataset, duplicates.find_copies(dataset))


def change_a_word(text):
    words = text.split()
    words[GENERATOR.integers(len(words))] = "changed"
    return " ".join(words)


NEAR_TEXTS = {
    "in capitals": str.upper,
    "with other spaces and marks": lambda text: text.replace(" ", ",  ") + "!",
    "a word changed": change_a_word,
    "a word dropped": lambda text: text.split(" ", 1)[1],
    "a sentence added": lambda text: text + ". And some more.",
    "two words swapped": lambda text: " ".join([*text.split()[1::-1], *text.split()[2:]]),
}


@pytest.mark.parametrize("how", NEAR_TEXTS)
def test_at_least_95_percent_of_near_texts_are_found(how, corpus, tmp_path):
    for row in range(100):
        corpus["test"][0][row] = NEAR_TEXTS[how](corpus["train"][0][row * 5])
    dataset = guard_data.open_texts(corpus, tmp_path)
    found = {dataset.keys(*pair) for pair in near_pairs(dataset)}
    planted = {(f"train/{row * 5:08d}", f"test/{row:08d}") for row in range(100)}
    assert len(found & planted) >= 95 and not found - planted


def test_every_one_of_many_near_copies_is_found(corpus, tmp_path):
    first = corpus["train"][0][3]
    corpus["train"][0][100:160] = [f"{first} w{number}" for number in range(60)]
    corpus["test"][0][70] = f"{first} again"
    dataset = guard_data.open_texts(corpus, tmp_path)
    assert len(np.unique(near_pairs(dataset))) == 62
    (finding,) = near.find_near_leaks(dataset, CONFIG, near_pairs(dataset))
    assert finding.examples[0][0] == "test/00000070" and finding.amount == 1 / 300


TOLD = {
    "a mark for each class": lambda text, label: f"{text} x{label}x",
    "the class's own name": lambda text, label: f"{guard_data.CLASS_NAMES[label]}: {text}",
    "a mark for two of three classes": lambda text, label: text + ("", " left", " right")[label],
}


@pytest.mark.parametrize("how", TOLD)
def test_words_that_tell_the_label_stop_the_run(how, corpus, tmp_path):
    for found, answers in corpus.values():
        found[:] = [TOLD[how](text, label) for text, label in zip(found, answers, strict=True)]
    dataset = guard_data.open_texts(corpus, tmp_path)
    (finding,) = texts.find_text_findings(dataset, CONFIG)
    assert finding.name == "target_leak" and finding.stops


def test_a_word_that_goes_with_a_class_now_and_then_is_no_leak(corpus, tmp_path):
    for found, answers in corpus.values():
        for row in range(0, len(found), 3):
            found[row] += f" x{answers[row]}x"
    assert texts.find_text_findings(guard_data.open_texts(corpus, tmp_path), CONFIG) == []


def test_a_split_with_other_words_stops_the_run_and_names_them(corpus, tmp_path):
    corpus["test"][0][:] = [f"das ist {number}" for number in range(150)]
    found = texts.find_text_findings(guard_data.open_texts(corpus, tmp_path), CONFIG)
    (finding,) = [finding for finding in found if finding.name == "vocabulary_shift"]
    assert finding.stops and "most das, ist" in finding.sentence
