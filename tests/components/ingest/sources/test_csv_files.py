import gzip
import json
import re

import pytest

from components.ingest import example, resolve
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources import csv_records
from components.ingest.sources.base import Reject, Row


def config(path, **changes):
    """Numbers `size`, names `colour`, two classes; `changes` replace whole blocks."""
    source = {"kind": "csv", "path": str(path), **changes.pop("source", {})}
    values = {
        "table": {"columns": {"size": {"kind": "number"}, "colour": {"kind": "category"}}},
        "label": {"source_name": "kind", "class_names": ["ant", "bee"]},
        "splits": {"test_share": 0.1},
    }
    return DataConfig.from_dict({"source": source, **values, **changes})


def read(data):
    return [row for block in resolve.open_source(data, None).blocks() for row in block.rows()]


def write(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_text(tmp_path, content, **changes):
    return read(config(write(tmp_path, content), **changes))


def decoded(row):
    return {
        name: value for name, value in example.decode_example(row.example).items() if name != "key"
    }


def test_a_row_becomes_an_example_with_its_columns_and_the_index_of_its_class(tmp_path):
    (row,) = read_text(tmp_path, "colour,kind,more,size\nred,bee,x,2.5\n")
    assert decoded(row) == {"colour": [b"red"], "label": [1], "size": [2.5]}
    assert (row.key, row.label) == ("t.csv:2", 1)


def test_the_example_is_the_one_that_the_row_encoder_makes(tmp_path):
    (row,) = read_text(tmp_path, "colour,kind,size\n,ant,-3\n")
    plain = {"colour": None, "key": b"t.csv:2", "label": 0, "size": -3.0}
    assert row.example == example.encode_example(plain)


@pytest.mark.parametrize("text", ["", "NA", "n/a", "NaN", "null", " "])
def test_a_missing_number_is_an_empty_feature(tmp_path, text):
    (row,) = read_text(tmp_path, f"size,colour,kind\n{text},red,ant\n")
    assert decoded(row)["size"] == []


@pytest.mark.parametrize("text", ["1e3", " 7 ", "+.5", "-2."])
def test_numbers_are_read_as_python_reads_them(tmp_path, text):
    (row,) = read_text(tmp_path, f"size,colour,kind\n{text},red,ant\n")
    assert decoded(row)["size"] == [float(text)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("big,red,ant", "its size is 'big', which is no number"),
        ("0x10,red,ant", "its size is '0x10', which is no number"),
        ("1_000,red,ant", "its size is '1_000', which is no number"),
        ("inf,red,ant", "its size is inf, which is infinite or beyond 32-bit floats"),
        (
            "1" * 60 + ",red,ant",
            "its size is 1.1+2e[+]59, which is infinite or beyond 32-bit floats",
        ),
        ("1,red", "it has 2 values instead of 3"),
        ("1,red,ant,4", "it has 4 values instead of 3"),
        ("1,red,", "it has no kind"),
        ("1,red,Ant", 'its label "Ant" is not in .* looks like "ant" but has LATIN CAPITAL'),
        ("1,red,cat", 'its label "cat" is not in data.label.class_names.'),
    ],
)
def test_a_row_that_cannot_be_used_is_told_by_file_line_and_reason(tmp_path, line, reason):
    rows = read_text(tmp_path, f"size,colour,kind\n1,red,ant\n{line}\n2,red,bee\n")
    (reject,) = [row for row in rows if isinstance(row, Reject)]
    assert reject.key == "t.csv:3"
    assert re.search(reason, reject.reason)
    assert [row.key for row in rows if isinstance(row, Row)] == ["t.csv:2", "t.csv:4"]


def test_quotes_may_hold_delimiters_line_ends_and_quotes(tmp_path):
    rows = read_text(tmp_path, 'size,colour,kind\n1,"a,\n""b""\n",ant\n\n2,5" pipe,bee\n')
    assert [decoded(row)["colour"] for row in rows] == [[b'a,\n"b"\n'], [b'5" pipe']]
    assert [row.key for row in rows] == ["t.csv:2", "t.csv:6"]


def test_lines_are_counted_right_beyond_the_first_block(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_records, "_CHUNK_BYTES", 50)
    lines = [f'{n},"x\ny",ant' if n % 3 == 0 else f"{n},plain,bee" for n in range(200)]
    starts, line = [], 2
    for text in lines:
        starts.append(f"t.csv:{line}")
        line += 1 + text.count("\n")
    rows = read_text(tmp_path, "size,colour,kind\n" + "\n".join(lines))
    assert [row.key for row in rows] == starts
    assert [decoded(row)["size"] for row in rows] == [[float(n)] for n in range(200)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_on_any_system(tmp_path, end):
    rows = read_text(tmp_path, f"size,colour,kind{end}1,red,ant{end}{end}2,blue,bee{end}")
    assert [(row.key, decoded(row)["colour"]) for row in rows] == [
        ("t.csv:2", [b"red"]),
        ("t.csv:4", [b"blue"]),
    ]


@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        ("utf-8-sig", {}),
        ("latin-1", {"encoding": "latin-1"}),
        ("utf-16", {"encoding": "utf-16"}),
        ("cp1252", {"encoding": "cp1252"}),
    ],
)
def test_any_encoding_is_read_without_its_byte_order_mark(tmp_path, encoding, options):
    content = "size,colour,kind\n1,grün,ant\n".encode(encoding)
    (row,) = read_text(tmp_path, content, source=options)
    assert decoded(row)["colour"] == ["grün".encode()]


def test_a_value_in_another_encoding_costs_its_row_alone(tmp_path):
    rows = read_text(tmp_path, "size,colour,kind\n1,grün,ant\n2,red,bee\n".encode("latin-1"))
    assert rows[0] == Reject(
        "t.csv:2", "its colour is b'gr\\xfcn', which is not UTF-8: name its encoding in data.source"
    )
    assert isinstance(rows[1], Row)


def test_gzip_files_and_other_delimiters_are_read(tmp_path):
    path = write(tmp_path, gzip.compress(b"size;colour;kind\n1;a,b;ant\n"), "t.csv.gz")
    (row,) = read(config(path, source={"delimiter": ";"}))
    assert decoded(row)["colour"] == [b"a,b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"to begin with the names of its columns. Received: an empty file"),
        ("size;colour;kind\n1;red;ant\n", r'Set data.source.delimiter = ";"'),
        ("size,color,kind\n", r'Expected a column "colour" in .* Did you mean "color"\?'),
        ("size,kind,size,colour\n", r'Expected one column "size" in .*Received: 2'),
        ('size,colour,kind\n1,"red,ant\n2,red,bee\n', r"begins with a quote in or after line 2"),
        ("size,gr\u00fcn,kind\n".encode("latin-1"), r"names of the columns .* to be in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_stops_the_ingest(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read_text(tmp_path, content)


@pytest.mark.parametrize("encoding", ["klingon", "base64", "utf\0"])
def test_an_unknown_encoding_is_refused(tmp_path, encoding):
    message = f"Expected data.source.encoding to be .* Received: encoding={json.dumps(encoding)}"
    with pytest.raises(DataError, match=message.replace("\\", r"\\")):
        read_text(tmp_path, "size,colour,kind\n", source={"encoding": encoding})


@pytest.mark.parametrize(
    "content", ["size,colour,kind\n1,\u0100,ant\n".encode("utf-16")[:-1], b"size,colour,kind\n"]
)
def test_a_wrong_encoding_is_told(tmp_path, content):
    with pytest.raises(DataError, match=r"to be in utf-16, as data.source.encoding says"):
        read_text(tmp_path, content, source={"encoding": "utf-16"})


def test_a_truncated_gzip_file_stops_the_ingest(tmp_path):
    content = gzip.compress(("size,colour,kind\n" + "1,red,ant\n" * 50).encode())[:-12]
    with pytest.raises(DataError, match=r"Expected to read .* to its end.*Fetch the file again"):
        read(config(write(tmp_path, content, "t.csv.gz")))


def test_the_content_is_the_inputs_without_label_and_key(tmp_path):
    rows = read_text(tmp_path, "size,colour,kind\n1,red,ant\n1,red,bee\n2,red,ant\n")
    assert rows[0].content == rows[1].content != rows[2].content


def test_a_group_and_a_time_come_with_the_row(tmp_path):
    text = "size,colour,kind,who\n1,red,ant,eva\n"
    (row,) = read_text(tmp_path, text, splits={"by": "group", "key": "who", "test_share": 0.1})
    assert (row.group, decoded(row)["group"]) == (b"eva", [b"eva"])
    text = "size,colour,kind,when\n1,red,ant,1970-01-02T00:00:00+01:00\n"
    (row,) = read_text(tmp_path, text, splits={"by": "time", "key": "when", "test_share": 0.1})
    assert (row.time, decoded(row)["time"]) == (82800, [82800])


def test_texts_are_kept_and_an_empty_one_is_told(tmp_path):
    text = "words,kind\ngrün und rot,ant\n  ,bee\n"
    data = config(write(tmp_path, text), table=None, text={"source_name": "words"})
    row, reject = read(data)
    assert decoded(row)["text"] == ["grün und rot".encode()]
    assert reject == Reject("t.csv:3", "its words is empty")


def test_a_target_is_a_float_and_a_missing_one_is_told(tmp_path):
    text = "size,colour,price\n1,red,9.5\n1,red,\n"
    data = config(write(tmp_path, text), label=None, target={"source_name": "price"})
    row, reject = read(data)
    assert (decoded(row)["target"], row.features["target"]) == ([9.5], 9.5)
    assert reject == Reject("t.csv:3", "it has no price")
