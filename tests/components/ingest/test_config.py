import pytest

from components.ingest.config import DataConfig

TABLE = {
    "source": {"kind": "csv", "path": "~/t.csv"},
    "table": {"columns": {"size": {"kind": "number"}}},
    "target": {"source_name": "price"},
}
DIGITS = {
    "source": {"kind": "sklearn", "name": "digits"},
    "image": {"height_px": 8, "width_px": 8, "channels": 1},
    "label": {"class_names": ["0", "1"]},
}
SERIES = {
    "source": {"kind": "parquet", "path": "/t.parquet"},
    "series": {"time": "when", "value": "load", "history_steps": 4, "horizon_steps": 2},
    "splits": {"by": "time", "key": "when"},
}


def test_one_path_is_a_list_of_one():
    assert DataConfig.from_dict(TABLE).source.path == ("~/t.csv",)


def test_a_config_survives_its_own_dictionary():
    for values in (TABLE, SERIES):
        data = DataConfig.from_dict(values)
        assert DataConfig.from_dict(data.to_dict()) == data


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {**TABLE, "source": {"kind": "csv", "path": "t.csv"}},
            r'must begin with /, ~, gs://, s3://, hdfs://, .* or package://.* Received: "t.csv"',
        ),
        (
            {**TABLE, "source": {"kind": "csv", "path": "http://host/t.csv"}},
            r'Received: "http://host/t.csv"',
        ),
        (
            {**TABLE, "source": {"kind": "csv", "path": "/t.csv", "delimiter": '"'}},
            r"delimiter must be an ASCII character other than a quote or a line's end",
        ),
        (
            {**DIGITS, "splits": {"key": "a"}},
            r'needs a source with columns. Received: data.source.kind = "sklearn"',
        ),
        (
            {**TABLE, "source": {"kind": "sklearn", "name": "digits"}},
            r'data.source.kind = "sklearn" needs the table data.image. Received: data.table',
        ),
        ({**SERIES, "splits": {}}, r'by = "time" and key = "when". Received: by = "hash"'),
    ],
)
def test_contradicting_settings_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        DataConfig.from_dict(values)
