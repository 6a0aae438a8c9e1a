import pytest

from tests.components import data_factories


@pytest.fixture
def source(tmp_path):
    """200 training and 60 test images of three classes."""
    return data_factories.write_idx_dataset(tmp_path / "source")
