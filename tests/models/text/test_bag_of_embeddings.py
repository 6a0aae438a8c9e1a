import numpy as np

from models import config
from models.blocks import heads
from models.text import bag_of_embeddings


def _build(**settings):
    return bag_of_embeddings.build(
        config.BagOfEmbeddingsConfig(architecture="bag_of_embeddings", width=4, **settings),
        vocabulary_size=10,
        max_tokens=5,
        head=heads.Classes(num_classes=3),
    )


def test_logits_are_linear_in_the_mean_of_the_tokens_vectors():
    model = _build()
    vectors_VD, kernel_DK, bias_K = model.get_weights()
    token_ids_BT = np.array([[3, 3, 7, 0, 0], [1, 0, 0, 0, 0]])
    means_BD = np.stack([(2 * vectors_VD[3] + vectors_VD[7]) / 3, vectors_VD[1]])
    np.testing.assert_allclose(
        model(token_ids_BT)["logits"], means_BD @ kernel_DK + bias_K, atol=1e-6
    )


def test_text_without_tokens_gets_the_bias():
    model = _build()
    np.testing.assert_array_equal(model(np.zeros((1, 5), "int32"))["logits"], np.zeros((1, 3)))
