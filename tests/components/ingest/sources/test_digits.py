import io

import numpy as np
import PIL.Image
import pytest
import sklearn.datasets

from components.ingest.errors import DataError
from components.ingest.sources import digits


def test_images_and_labels_are_those_that_scikit_learn_loads():
    expected = sklearn.datasets.load_digits()
    rows = [row for block in digits.find_digits().blocks() for row in block.rows()]
    images = np.stack(
        [np.asarray(PIL.Image.open(io.BytesIO(row.features["image"]))) for row in rows]
    )
    np.testing.assert_array_equal(images, np.floor(expected.images * 255 / 16))
    assert [row.label for row in rows] == expected.target.tolist()


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(digits.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"Install it with: pip install scikit-learn"):
        digits.find_digits()
