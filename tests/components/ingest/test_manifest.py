import json

import pytest

from components.ingest.errors import DataError
from components.ingest.manifest import MANIFEST_FILE, Manifest
from tests.components.ingest import ingest_factories

# As the first version wrote them: its shards knew no spans.
FIRST_FORMAT = {
    "format_version": 1,
    "origin": "a",
    "num_rejects": 0,
    "splits": {"train": {"shards": [{"path": "a", "num_rows": 1}], "class_counts": {}}},
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            json.dumps(FIRST_FORMAT),
            r"dataset of format 2 in .* Received: format 1.* Run the recipe",
        ),
        (
            json.dumps({**FIRST_FORMAT, "format_version": 2}),
            r"Received: a damaged file. Remove the",
        ),
        ("{", r"to be the manifest of a dataset. Received: a damaged file. Remove the folder"),
        ("[]", r"Received: a damaged file"),
    ],
)
def test_a_manifest_of_another_version_or_a_damaged_one_is_told(tmp_path, text, message):
    (tmp_path / MANIFEST_FILE).write_text(text)
    with pytest.raises(DataError, match=message):
        Manifest.read(tmp_path)


def test_a_dataset_of_another_format_is_ingested_anew(source, tmp_path, monkeypatch):
    before = ingest_factories.run(source, tmp_path / "cache")
    monkeypatch.setattr("components.ingest.manifest.FORMAT_VERSION", 3)
    monkeypatch.setattr("components.ingest.ingest.FORMAT_VERSION", 3)
    after = ingest_factories.run(source, tmp_path / "cache")
    assert after.path != before.path and after.digest == before.digest
