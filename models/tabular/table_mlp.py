"""A multi-layer perceptron over the columns of a table.

Axes: B batch, N columns of numbers, M columns of categories, F features.
"""

import keras

from models import config, inputs
from models.blocks import dense_stack, heads, table_io


def build(mlp: config.MlpConfig, *, table: inputs.TableInput, head: heads.Head) -> keras.Model:
    """Builds the perceptron over standardised numbers and embedded categories.

    Args:
        mlp: The architecture's settings.
        table: The columns.
        head: What the model ends with.

    Returns:
        A model from `numbers` and `is_missing` (float32 (B, N)) and `category_ids` (int32 (B, M)),
        as far as there are such columns, to what the head gives.

    Raises:
        ValueError: If there are no columns.

    >>> mlp = config.MlpConfig(architecture="mlp", hidden_units=(8,))
    >>> table = inputs.TableInput(numbers=("miles",), categories={"day": 9})
    >>> sorted(build(mlp, table=table, head=heads.Classes(num_classes=2)).input)
    ['category_ids', 'is_missing', 'numbers']
    """
    by_name, features_BF = table_io.table_input(table)
    features_BF = dense_stack.hidden_layers(features_BF, mlp)
    return heads.finish("mlp", by_name, features_BF, head=head, dropout_rate=mlp.dropout_rate)
