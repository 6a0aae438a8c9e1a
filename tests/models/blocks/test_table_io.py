import pytest

from models import inputs
from models.blocks import table_io


@pytest.mark.parametrize(
    ("categories", "message"),
    [({}, "at least one column. Received: none"), ({"day": 1}, "at least 2 ids.*'day': 1")],
)
def test_a_table_that_holds_nothing_is_refused(categories, message):
    with pytest.raises(ValueError, match=message):
        table_io.table_input(inputs.TableInput(numbers=(), categories=categories))
