"""A recipe of small texts whose class is in their words."""

import json
import pathlib
import random

_PRAISE = ("good", "tasty", "great", "fresh", "lovely", "crisp")
_BLAME = ("bad", "stale", "awful", "bland", "bitter", "soggy")
_FILLER = ("the", "bread", "tea", "was", "and", "we", "had", "it", "today", "soup", "very", "cake")
_NUM_ROWS = 800

_RECIPE = """\
schema_version = 1
name = "texts"
description = "Praise or blame, told by one word."
task = "text_classification"
seed = 1

[data.source]
kind = "jsonl"
path = "{path}"

[data.text]
source_name = "review"
max_tokens = 16

[data.label]
source_name = "verdict"
class_names = ["blame", "praise"]

[data.splits]
validation_share = 0.15
test_share = 0.2

[model]
architecture = "bag_of_embeddings"
width = 16

[training]
num_epochs = 8
global_batch_size = 32

[training.optimizer]
learning_rate = 0.02

[evaluation]
min_accuracy = 0.9
min_class_accuracy = 0.8
"""


def write(folder: pathlib.Path) -> pathlib.Path:
    """Writes the texts and the recipe, and returns the recipe's path."""
    data, recipe = folder / "texts.jsonl", folder / "texts.toml"
    draw = random.Random(0)
    data.write_text("".join(json.dumps(_row(draw)) + "\n" for _ in range(_NUM_ROWS)))
    recipe.write_text(_RECIPE.format(path=data))
    return recipe


def _row(draw: random.Random) -> dict[str, str]:
    verdict, words = draw.choice([("praise", _PRAISE), ("blame", _BLAME)])
    chosen = [*draw.choices(_FILLER, k=draw.randint(5, 12)), draw.choice(words)]
    draw.shuffle(chosen)
    return {"review": " ".join(chosen).capitalize() + draw.choice(".!"), "verdict": verdict}
