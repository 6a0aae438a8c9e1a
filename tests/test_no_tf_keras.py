"""Keras 3 is imported as `keras` and in no older way, in code and in documents."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("models", "serving", "components", "pipeline", "tests", "docs", "examples")
# Written in pieces, so that this file does not find itself.
OLD_WAYS = re.compile(
    r"\btf" + r"\.keras|\btf" + r"_keras|from tensorflow" + r" import keras|tensorflow" + r"\.keras"
)


def test_no_file_names_the_older_keras():
    files = [
        p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".md")
    ]
    files += ROOT.glob("*.md")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if OLD_WAYS.search(line)
    ]
    assert found == []


def test_the_pattern_finds_each_older_way():
    samples = ["tf" + ".keras.Model", "import tf" + "_keras", "from tensorflow" + " import keras"]
    assert all(OLD_WAYS.search(sample) for sample in samples)
