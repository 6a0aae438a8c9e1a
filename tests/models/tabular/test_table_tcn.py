import numpy as np
import pytest

from models import config, inputs
from models.blocks import heads
from models.tabular import table_mlp, table_tcn

TCN = config.TcnConfig(architecture="tcn", num_filters=4)
TABLE = inputs.TableInput(numbers=("n",), categories={"c": 3}, sequences={"x": (6, 2)})
HEAD = heads.Classes(num_classes=3)


def batch(values, is_missing):
    return {
        "numbers": np.zeros((1, 1)),
        "is_missing": np.zeros((1, 1)),
        "category_ids": np.zeros((1, 1), "int32"),
        "sequence1": values,
        "sequence1_is_missing": is_missing,
    }


@pytest.mark.parametrize(
    "build",
    [
        lambda: table_tcn.build(TCN, table=TABLE, head=HEAD),
        lambda: table_mlp.build(config.MlpConfig(architecture="mlp"), table=TABLE, head=HEAD),
    ],
)
def test_lists_stand_beside_the_other_columns_and_matter(build):
    model = build()
    random = np.random.default_rng(0)
    values, there = random.normal(size=(1, 6, 2)), np.zeros((1, 6, 2))
    found = [np.asarray(model(batch(values * factor, there))["logits"]) for factor in (1.0, 2.0)]
    assert found[0].shape == (1, 3)
    assert np.abs(found[0] - found[1]).max() > 1e-3


def test_what_follows_the_end_of_a_list_has_no_say():
    model = table_tcn.build(TCN, table=TABLE, head=HEAD)
    values = np.random.default_rng(0).normal(size=(1, 6, 2))
    is_missing = np.zeros((1, 6, 2))
    is_missing[:, 4:] = 1.0
    other = values.copy()
    other[:, 4:] += 5.0
    found = [np.asarray(model(batch(each, is_missing))["logits"]) for each in (values, other)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_a_table_without_lists_is_refused():
    table = inputs.TableInput(numbers=("n",), categories={})
    with pytest.raises(ValueError, match=r"needs a column of lists.*Received: the columns \['n'\]"):
        table_tcn.build(TCN, table=table, head=HEAD)
