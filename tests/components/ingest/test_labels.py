import pytest

from components.ingest import labels
from components.ingest.errors import RowError

CLASSES = {"cat": 0, "caf\u00e9": 1, "hot dog": 2}


def test_a_name_and_an_index_are_found():
    assert [labels.class_index(label, CLASSES) for label in ("hot dog", 1)] == [2, 1]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("\u0441\u0430t", r'looks like "cat" but has CYRILLIC SMALL LETTER ES \(U\+0441\), CYRILL'),
        (
            "cafe\u0301",
            r'looks like "caf\u00e9" but has LATIN SMALL LETTER E \(U\+0065\), COMB',
        ),
        ("CAT", r'looks like "cat" but has LATIN CAPITAL LETTER C'),
        ("cat\u200b", r'looks like "cat" but has ZERO WIDTH SPACE \(U\+200B\)'),
        ("hot  dog", r'looks like "hot dog" but has its characters in another number or order'),
        ("hotdog", r'Did you mean "hot dog"\?'),
        ("bird", r'its label "bird" is not in data.label.class_names.$'),
        (3, r"its label 3 is outside data.label.class_names \(0 to 2\)"),
    ],
)
def test_a_label_that_is_no_class_is_told_with_its_likeness(label, message):
    with pytest.raises(RowError, match=message):
        labels.class_index(label, CLASSES)
