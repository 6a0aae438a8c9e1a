"""A recipe of a small table whose number is the product of two columns."""

import pathlib
import random

_NUM_ROWS = 700

_RECIPE = """\
schema_version = 1
name = "prices"
description = "A price: size times what a square metre costs there."
task = "tabular_regression"
seed = 1

[data.source]
kind = "csv"
path = "{path}"

[data.table.columns]
size = {{ kind = "number" }}
place = {{ kind = "category" }}

[data.target]
source_name = "price"

[data.splits]
validation_share = 0.15
test_share = 0.2

[model]
architecture = "mlp"
hidden_units = [32]

[training]
num_epochs = 12
global_batch_size = 16

[training.optimizer]
learning_rate = 1e-2

[evaluation]
min_skill = 0.3
"""


def write(folder: pathlib.Path) -> pathlib.Path:
    """Writes the table and its recipe; returns the recipe's path."""
    generator = random.Random(0)
    costs = {"centre": 3.0, "suburb": 2.0, "village": 1.0}
    lines = ["size,place,price"]
    for _ in range(_NUM_ROWS):
        size, place = generator.uniform(20, 120), generator.choice(sorted(costs))
        lines.append(f"{size:.3f},{place},{size * costs[place]:.3f}")
    table, recipe = folder / "prices.csv", folder / "prices.toml"
    table.write_text("\n".join(lines) + "\n")
    recipe.write_text(_RECIPE.format(path=table))
    return recipe
