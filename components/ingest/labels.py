"""Labels as class indices, with a hint where a label only looks like a class."""

import unicodedata
from collections.abc import Mapping

from components.ingest.errors import RowError, nearest

# Letters of other scripts that look like Latin ones, which unicodedata does not fold.
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445"
    "\u0456\u0455\u0458\u0501\u04bb\u051b\u051d"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425",
    "aeopcyxisjdhqwABEZHIKMNOPTYXABEKMHOPCTX",
)


def class_index(label: int | str, classes: Mapping[str, int]) -> int:
    """Returns the index of a label.

    Args:
        label: Class index or class name.
        classes: Index of each class name.

    Raises:
        RowError: If it is not one of the classes.
    """
    if isinstance(label, str):
        if label in classes:
            return classes[label]
        raise RowError(
            f'its label "{label}" is not in data.label.class_names.{_hint(label, classes)}'
        )
    if 0 <= label < len(classes):
        return label
    raise RowError(f"its label {label} is outside data.label.class_names (0 to {len(classes) - 1})")


def skeleton(label: str) -> str:
    """Returns what a label looks like: in one case, form, spacing and script.

    >>> skeleton("\\u0421af\\u00e9 ") == skeleton("Cafe\\u0301")  # A Cyrillic letter, an accent.
    True
    """
    folded = unicodedata.normalize("NFKC", label).translate(_LOOK_ALIKES).casefold()
    visible = (char for char in folded if unicodedata.category(char) != "Cf")
    return " ".join("".join(visible).split())


def _hint(label: str, classes: Mapping[str, int]) -> str:
    for name in classes:
        if skeleton(name) == skeleton(label):
            return f' It looks like "{name}" but has {_differences(label, name)}.'
    return nearest(label, classes)


def _differences(label: str, name: str) -> str:
    """Names the characters that a label has and its likeness lacks."""
    other = [char for char in dict.fromkeys(label) if char not in name]
    if not other:
        return "its characters in another number or order"
    shown = (
        f"{unicodedata.name(char, 'a control character')} (U+{ord(char):04X})" for char in other
    )
    return ", ".join(shown)
