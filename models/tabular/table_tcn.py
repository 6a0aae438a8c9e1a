"""Temporal convolutional networks over the lists of a table, beside its other columns.

Axes: B batch, T steps, C channels, F features.
"""

import keras

from models import config, inputs
from models.blocks import heads, table_io, text_io
from models.timeseries import tcn as tcns


def build(tcn: config.TcnConfig, *, table: inputs.TableInput, head: heads.Head) -> keras.Model:
    """Builds a stack of dilated convolutions for each column of lists (arXiv:1803.01271).

    The mean over the steps that a list has, the same wherever in it something happens, joins the
    table's numbers and categories in one hidden layer.

    Args:
        tcn: The architecture's settings.
        table: The columns, of which at least one holds lists.
        head: What the model ends with.

    Returns:
        A model from the inputs that `models.inputs.TableInput` names to what the head gives.

    Raises:
        ValueError: If no column holds lists.

    >>> tcn = config.TcnConfig(architecture="tcn", num_filters=8)
    >>> table = inputs.TableInput(numbers=(), categories={}, sequences={"heartbeat": (20, 2)})
    >>> sorted(build(tcn, table=table, head=heads.Classes(num_classes=3)).input)
    ['sequence1', 'sequence1_is_missing']
    """
    if not table.sequences:
        raise ValueError(
            "The architecture tcn needs a column of lists of numbers, over which it convolves. "
            f"Received: the columns {[*table.numbers, *table.categories]}. Use mlp."
        )

    def encode(values_BTC: heads.Tensor, is_missing_BTC: heads.Tensor, name: str) -> heads.Tensor:
        both = keras.layers.Concatenate(name=f"{name}_both")([values_BTC, is_missing_BTC])
        x_BTF = tcns.dilated_stack(both, tcn, num_steps=both.shape[1], prefix=f"{name}_")
        is_there_BT = keras.ops.min(is_missing_BTC, axis=-1) < 1.0
        return text_io.masked_mean(x_BTF, is_there_BT)

    by_name, features_BF = table_io.table_input(table, encode=encode)
    features_BF = keras.layers.Dense(
        2 * tcn.num_filters, activation="relu", kernel_initializer="he_normal", name="hidden"
    )(features_BF)
    return heads.finish("tcn", by_name, features_BF, head=head, dropout_rate=tcn.dropout_rate)
