import gzip

import pytest

from components.ingest import example, resolve
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources import jsonl_files
from components.ingest.sources.base import Reject

GOOD = '{"words": "so good", "kind": "like", "stars": 5}\n'


def config(path, **changes):
    values = {
        "source": {"kind": "jsonl", "path": str(path)},
        "text": {"source_name": "words"},
        "label": {"source_name": "kind", "class_names": ["like", "dislike"]},
        "splits": {"test_share": 0.1},
    }
    return DataConfig.from_dict({**values, **changes})


def read(tmp_path, content, name="t.jsonl", **changes):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    source = resolve.open_source(config(path, **changes), None)
    return [row for block in source.blocks() for row in block.rows()]


def size(row):
    return example.decode_example(row.example)["size"]


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_text_becomes_an_example(tmp_path, start, pack):
    (row,) = read(tmp_path, pack(start + GOOD.encode()))
    assert example.decode_example(row.example) == {
        "key": [b"t.jsonl:1"],
        "label": [0],
        "text": [b"so good"],
    }


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"words": "a"', "it is no JSON: Expecting ',' delimiter at column 14"),
        (b"[1, 2]", "it is a JSON list, not an object"),
        (
            b'{"words": "gr\xfcn", "kind": "like"}',
            "it is not UTF-8 (invalid start byte at byte 13)",
        ),
        (b'{"words": "a", "words": "b", "kind": "like"}', 'it has the name "words" twice'),
        (b'{"words": "a"}', "it has no kind"),
        (b'{"words": "", "kind": "like"}', "its words is empty"),
        (b'{"words": null, "kind": "like"}', "its words is empty"),
        (b'{"a": ' * 5000, "its JSON is nested too deeply"),
    ],
)
def test_a_line_that_cannot_be_used_is_told_by_file_line_and_reason(tmp_path, line, reason):
    rows = read(tmp_path, GOOD.encode() + b"\n" + line + b"\n" + GOOD.encode())
    assert [row for row in rows if isinstance(row, Reject)] == [Reject("t.jsonl:3", reason)]
    assert len(rows) == 3


def test_numbers_of_mixed_kinds_are_read_and_words_among_them_told(tmp_path):
    lines = "".join(
        f'{{"size": {size}, "kind": "like"}}\n'
        for size in ("1", "2.5", '"3"', "null", "true", '"many"', str(2**80))
    )
    table = {"columns": {"size": {"kind": "number"}}}
    rows = read(tmp_path, lines, text=None, table=table)
    assert [size(row) for row in rows[:3]] == [[1.0], [2.5], [3.0]]
    assert size(rows[3]) == []
    assert [row.reason for row in rows[4:6]] == [
        "its size is 'true', which is no number",
        "its size is 'many', which is no number",
    ]
    assert size(rows[6]) == [pytest.approx(2.0**80)]


def test_a_name_that_no_line_has_stops_the_ingest(tmp_path):
    with pytest.raises(DataError, match=r'a column "words" in the first lines .* "wods"'):
        read(tmp_path, '{"wods": "a", "kind": "like"}\n')


def test_a_file_without_line_ends_stops_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl_files, "_CHUNK_BYTES", 10)
    monkeypatch.setattr(jsonl_files, "_MAX_LINE_BYTES", 20)
    with pytest.raises(DataError, match=r"one JSON object to a line .* Write each object on a"):
        read(tmp_path, '[{"words": "a", "kind": "like"}, {"words": "b", "kind": "like"}]')
