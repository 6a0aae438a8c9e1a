"""The beginning of every model of tables: numbers, what is missing of them, and categories.

Axes: B batch, N columns of numbers, M columns of categories, F features.
"""

import keras

from models import inputs
from models.blocks.heads import Tensor

_MAX_EMBEDDING_WIDTH = 50


def table_input(table: inputs.TableInput) -> tuple[dict[str, Tensor], Tensor]:
    """Starts a model of a table's rows.

    Each category becomes a learned vector, so that similar ones come to lie near each other
    (https://arxiv.org/abs/1604.06737). A number that is missing is told apart from the mean, which
    stands in its place.

    Args:
        table: The columns; at least one.

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
    if not table.numbers and not table.categories:
        raise ValueError("A table must have at least one column. Received: none.")
    small = {name: size for name, size in table.categories.items() if size < 2}
    if small:
        raise ValueError(
            "Each column of categories must have at least 2 ids: missing and other. "
            f"Received: {small}."
        )
