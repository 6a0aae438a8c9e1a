"""The beginning of every model of tables: numbers, what is missing of them, categories and lists.

Axes: B batch, T steps, C channels, N columns of numbers, M columns of categories, F features.
"""

from collections.abc import Callable

import keras

from models import inputs
from models.blocks.heads import Tensor

_MAX_EMBEDDING_WIDTH = 50
# From the values of a list and what is missing of them, both (B, T, C), and a prefix for names of
# layers, to features (B, F).
Encode = Callable[[Tensor, Tensor, str], Tensor]


def flatten(values_BTC: Tensor, is_missing_BTC: Tensor, name: str) -> Tensor:
    """Puts all values of a list side by side, and what is missing of them.

    Args:
        values_BTC: Standardised, 0 where missing.
        is_missing_BTC: 1 where missing.
        name: Prefix of the layer's name.
    """
    both = keras.layers.Concatenate(name=f"{name}_both")([values_BTC, is_missing_BTC])
    return keras.layers.Flatten(name=f"{name}_flat")(both)


def table_input(
    table: inputs.TableInput, *, encode: Encode = flatten
) -> tuple[dict[str, Tensor], Tensor]:
    """Starts a model of a table's rows.

    Each category becomes a learned vector, so that similar ones come to lie near each other
    (https://arxiv.org/abs/1604.06737). A number that is missing is told apart from the mean, which
    stands in its place.

    Args:
        table: The columns; at least one.
        encode: Makes features of a list of numbers.

    Returns:
        The inputs by name, and all of them side by side: float features (B, F).

    Raises:
        ValueError: If there are no columns, or one of categories has fewer than two ids.
    """
    _check_columns(table)
    by_name: dict[str, Tensor] = {}
    parts = []
    if table.numbers:
        for name in ("numbers", "is_missing"):
            by_name[name] = keras.Input((len(table.numbers),), name=name)
            parts.append(by_name[name])
    if table.categories:
        ids_BM = keras.Input((len(table.categories),), dtype="int32", name="category_ids")
        by_name["category_ids"] = ids_BM
        for index, (num_ids, width) in enumerate(embedding_sizes(table)):
            # By number: a column's name need not be a valid name for a layer.
            embedding = keras.layers.Embedding(num_ids, width, name=f"category{index + 1}")
            parts.append(embedding(ids_BM[:, index]))
    for place, shape in enumerate(table.sequences.values()):
        pair = [keras.Input(shape, name=key) for key in table.sequence_keys(place)]
        by_name |= zip(table.sequence_keys(place), pair, strict=True)
        parts.append(encode(pair[0], pair[1], table.sequence_keys(place)[0]))
    features_BF = keras.layers.Concatenate(name="features")(parts) if parts[1:] else parts[0]
    return by_name, features_BF


def embedding_sizes(table: inputs.TableInput) -> list[tuple[int, int]]:
    """Returns (number of ids, width) of each column of categories.

    >>> embedding_sizes(inputs.TableInput(numbers=(), categories={"day": 9, "company": 1000}))
    [(9, 5), (1000, 50)]
    """
    return [
        (num_ids, min(_MAX_EMBEDDING_WIDTH, -(-num_ids // 2)))
        for num_ids in table.categories.values()
    ]


def _check_columns(table: inputs.TableInput) -> None:
    if not table.numbers and not table.categories and not table.sequences:
        raise ValueError("A table must have at least one column. Received: none.")
    small = {name: size for name, size in table.categories.items() if size < 2}
    if small:
        raise ValueError(
            "Each column of categories must have at least 2 ids: missing and other. "
            f"Received: {small}."
        )
