"""Checks the TOML writer against the standard library's reader."""

import tomllib

import hypothesis
import pytest
from hypothesis import strategies as st

from pipeline import toml_text

_SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
_KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)


@hypothesis.given(st.dictionaries(_KEYS, _VALUES, max_size=4))
def test_the_standard_library_reads_back_what_was_written(table):
    assert tomllib.loads(toml_text.dumps(table)) == table


def test_none_is_refused():
    with pytest.raises(TypeError, match="TOML has no form for this value"):
        toml_text.dumps({"a": None})
