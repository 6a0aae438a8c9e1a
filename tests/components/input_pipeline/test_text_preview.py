from components.input_pipeline import text_preview
from components.input_pipeline.config import InputConfig

TEXTS = [" ".join(f"w{text}x{word}" for word in range(40)) for text in range(8)]


def changed(**settings):
    config = InputConfig.from_dict({"augment_text": settings})
    return text_preview.changed_texts([*TEXTS, ""], config, seed=3)


def test_dropped_words_are_unknown_and_the_others_stay():
    (title, found), *_ = changed(dropout_probability=0.3).items()
    assert title == "dropout_probability = 0.3" and found[-1] == ""
    pairs = [
        pair
        for before, after in zip(TEXTS, found, strict=False)
        for pair in zip(before.split(), after.split(), strict=True)
    ]
    share = sum(after == "[UNK]" for _, after in pairs) / len(pairs)
    assert 0.2 < share < 0.4
    assert all(after in (before, "[UNK]") for before, after in pairs)


def test_masking_replaces_some_words_by_others_of_the_texts():
    (found,) = changed(mask_probability=0.5).values()
    words = {word for text in TEXTS for word in text.split()}
    others = [
        after
        for before, text in zip(TEXTS, found, strict=False)
        for old, after in zip(before.split(), text.split(), strict=True)
        if after not in (old, "[UNK]")
    ]
    assert others and set(others) <= words


def test_several_settings_are_shown_alone_and_together():
    titles = list(changed(dropout_probability=0.1, mask_probability=0.2))
    assert titles == ["dropout_probability = 0.1", "mask_probability = 0.2", "all together"]


def test_texts_are_left_alone_without_settings():
    assert changed() == {}
