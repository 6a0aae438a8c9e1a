import pytest
from tfx.components.example_gen import utils
from tfx.proto import example_gen_pb2

from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources import file_source, span_patterns
from components.ingest.sources.span_patterns import Span


def write(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("size,price\n1,2\n")


def names(folder, pattern, spans, **paths):
    source = {"kind": "csv", "path": f"{folder}/{pattern}", "spans": spans}
    source |= {name: f"{folder}/{path}" for name, path in paths.items()}
    data = DataConfig.from_dict(
        {
            "source": source,
            "table": {"columns": {"size": {"kind": "number"}}},
            "target": {"source_name": "price"},
        }
    )
    return list(file_source.open_files(data.source, data).files())


@pytest.mark.parametrize(
    ("pattern", "there"),
    [
        ("span-{SPAN}/*.csv", ["span-2/a.csv", "span-10/a.csv", "span-9/a.csv"]),
        (
            "span-{SPAN}/v{VERSION}/*.csv",
            ["span-1/v1/a.csv", "span-2/v1/a.csv", "span-2/v3/a.csv", "span-2/v3/b.csv"],
        ),
        ("{YYYY}-{MM}-{DD}/*", ["2026-01-31/a.csv", "2025-12-31/a.csv", "1969-12-31/a.csv"]),
        ("day{SPAN:2}-{VERSION:1}/*", ["day07-1/a.csv", "day07-2/a.csv", "day08-1/a.csv"]),
    ],
)
def test_the_newest_span_is_the_one_that_tfx_takes(tmp_path, pattern, there):
    write(tmp_path, *there)
    split = example_gen_pb2.Input.Split(name="train", pattern=pattern)
    _, span, version = utils.calculate_splits_fingerprint_span_and_version(str(tmp_path), [split])
    found = span_patterns.newest_versions(
        filter(None, (span_patterns.span_of(name, pattern) for name in there))
    )
    assert list(found.items())[-1] == (span, version or 0)
    expected = [
        f"train/{name}"
        for name in sorted(there)
        if span_patterns.span_of(name, pattern) == Span(span, version or 0)
    ]
    assert names(tmp_path, pattern, {"newest": 1}) == expected


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ({"newest": 2}, [4, 7]),
        ({"newest": 2, "skip_newest": 1}, [3, 4]),
        ({"first": 3, "last": 4}, [3, 4]),
        ({"first": "1970-01-05"}, [4, 7]),
        ({"first": 0}, [1, 3, 4, 7]),
        ({"last": 4, "newest": 1}, [4]),
    ],
)
def test_a_recipe_chooses_spans_by_number_day_or_age(tmp_path, spans, expected):
    write(tmp_path, *(f"s{number}.csv" for number in (1, 3, 4, 7)))
    found = names(tmp_path, "s{SPAN}.csv", spans)
    assert found == [f"train/s{number}.csv" for number in expected]


def test_a_file_that_is_no_number_is_no_span(tmp_path):
    write(tmp_path, "s1.csv", "sx.csv", "s2x.csv")
    assert names(tmp_path, "s{SPAN}.csv", {"first": 0}) == ["train/s1.csv"]


def test_other_splits_follow_the_spans_of_the_train_split_and_fixed_files_stay(tmp_path):
    write(tmp_path, "train1.csv", "train2.csv", "eval1.csv", "eval2.csv", "test.csv")
    paths = {"validation_path": "eval{SPAN}.csv", "test_path": "test.csv"}
    assert names(tmp_path, "train{SPAN}.csv", {"newest": 1}, **paths) == [
        "train/train2.csv",
        "validation/eval2.csv",
        "test/test.csv",
    ]


def test_a_span_that_a_split_lacks_is_told(tmp_path):
    write(tmp_path, "train1.csv", "train2.csv", "eval1.csv")
    with pytest.raises(DataError, match=r"in the validation split too.* no files of span 2, ver"):
        names(tmp_path, "train{SPAN}.csv", {"newest": 1}, validation_path="eval{SPAN}.csv")


def test_a_choice_of_no_span_is_told(tmp_path):
    write(tmp_path, "s1.csv", "s3.csv")
    with pytest.raises(
        DataError, match=r"some of the 2 spans that are there, 1 to 3. Received: no"
    ):
        names(tmp_path, "s{SPAN}.csv", {"first": 4})


@pytest.mark.parametrize(
    ("pattern", "spans", "message"),
    [
        ("s{SPAN}.csv", None, r"needs spans, .* Add spans = { newest = 1 } for the newest one"),
        ("s.csv", {"newest": 1}, r"need a path with {SPAN}, or with {YYYY}, .* Received: path = "),
        ("{YYYY}-{MM}.csv", {"newest": 1}, r"in which {YYYY}, {MM} and {DD} go together"),
        ("v{VERSION}.csv", {"newest": 1}, r"in which {VERSION} goes with {SPAN}"),
        ("s{SPAN}.csv", {"first": "yesterday"}, r'days such as "2026-01-31". Received: \'yester'),
    ],
)
def test_placeholders_that_make_no_sense_are_refused(tmp_path, pattern, spans, message):
    with pytest.raises(ValueError, match=message):
        names(tmp_path, pattern, spans)
