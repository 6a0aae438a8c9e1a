import numpy as np

from models import config, inputs
from models.blocks import heads
from models.tabular import table_mlp

TABLE = inputs.TableInput(numbers=("miles", "fare"), categories={"day": 9, "company": 200})


def _build(table=TABLE, **settings):
    return table_mlp.build(
        config.MlpConfig(architecture="mlp", hidden_units=(8,), **settings),
        table=table,
        head=heads.Classes(num_classes=2),
    )


def test_parameter_count_by_hand():
    # Embeddings of 9 x 5 and 200 x 50; 2 numbers, 2 marks, 5 and 50 features.
    features = 2 + 2 + 5 + 50
    assert _build().count_params() == 9 * 5 + 200 * 50 + (features * 8 + 8) + (8 * 2 + 2)


def test_a_table_without_numbers_reads_categories_alone():
    model = _build(inputs.TableInput(numbers=(), categories={"day": 9}))
    assert list(model.input) == ["category_ids"]


def test_each_category_column_has_vectors_of_its_own():
    model = _build(dropout_rate=0.0)
    rows = {
        "numbers": np.zeros((2, 2), "float32"),
        "is_missing": np.zeros((2, 2), "float32"),
        "category_ids": np.array([[3, 4], [4, 3]], "int32"),
    }
    logits = np.asarray(model(rows)["logits"])
    assert not np.allclose(logits[0], logits[1])
