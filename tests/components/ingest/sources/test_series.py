import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from components.ingest import example, ingest, resolve, tfrecord
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources.base import Reject

HOUR = 3600


def config(path, *, splits=None, **series):
    defaults = {"time": "when", "value": "load", "history_steps": 4, "horizon_steps": 2}
    shares = {"validation_share": 0.2, "test_share": 0.2}
    return DataConfig.from_dict(
        {
            "source": {"kind": "parquet", "path": str(path)},
            "series": {**defaults, **series},
            "splits": {"by": "time", "key": "when", **shares, **(splits or {})},
        }
    )


def write(tmp_path, **columns):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def windows(path, **series):
    source = resolve.open_source(config(path, **series), None)
    return [(block.split, row) for block in source.blocks() for row in block.rows()]


def test_a_window_holds_the_past_row_by_row_and_the_steps_after_it(tmp_path):
    path = write(
        tmp_path, when=np.arange(30) * HOUR, load=np.arange(30.0), heat=np.arange(30) + 100
    )
    found = windows(path, covariates=["heat"])
    split, row = found[0]
    assert (split, row.key, row.time) == ("train", "1970-01-01T04:00:00", 4 * HOUR)
    assert row.features["history"].tolist() == [0, 100, 1, 101, 2, 102, 3, 103]
    assert row.features["target"].tolist() == [4, 5]


def test_every_window_is_there_once_but_for_targets_that_reach_over_a_border(tmp_path):
    path = write(tmp_path, when=np.arange(30) * HOUR, load=np.arange(30.0))
    found = windows(path)
    targets = {
        name: [row.features["target"].astype(int).tolist() for split, row in found if split == name]
        for name in ("train", "validation", "test")
    }
    # 30 steps: validation from step 18 on, test from step 24 on.
    assert targets == {
        "train": [[n, n + 1] for n in range(4, 17)],
        "validation": [[n, n + 1] for n in range(18, 23)],
        "test": [[n, n + 1] for n in range(24, 29)],
    }


def test_windows_begin_a_stride_apart(tmp_path):
    path = write(tmp_path, when=np.arange(30) * HOUR, load=np.arange(30.0))
    firsts = [row.time // HOUR for _, row in windows(path, stride_steps=3)]
    assert firsts == [4, 7, 10, 13, 16, 19, 22, 25, 28]


def test_rows_may_come_in_any_order_and_series_apart(tmp_path):
    order = np.random.default_rng(0).permutation(60)
    name = np.where(order < 30, "b", "a")
    path = write(tmp_path, when=(order % 30) * HOUR, load=order.astype(float), who=name)
    found = [row for split, row in windows(path, series="who") if split == "test"]
    assert [row.key for row in found][:2] == ["a@1970-01-02T00:00:00", "a@1970-01-02T01:00:00"]
    assert [row.features["target"][0] for row in found] == [*range(54, 59), *range(24, 29)]


def test_no_window_spans_a_gap_or_a_missing_value_and_both_are_told(tmp_path):
    times = np.delete(np.arange(40), [20, 21])
    load = times.astype(float)
    load[10] = np.nan
    path = write(tmp_path, when=times * HOUR, load=load)
    found = [row for _, row in windows(path)]
    rejects = [row for row in found if isinstance(row, Reject)]
    assert rejects == [
        Reject("t.parquet:10", "it has no load"),
        Reject("@1970-01-01T22:00:00", "steps missing before it: 2"),
    ]
    seen = [
        int(row.features["history"][0]) + n
        for row in found
        if not isinstance(row, Reject)
        for n in range(6)
    ]
    assert not {10, 20, 21} & set(seen)
    assert all(
        np.diff([*row.features["history"], *row.features["target"]]).tolist() == [1.0] * 5
        for row in found
        if not isinstance(row, Reject)
    )


def test_months_are_regular_steps(tmp_path):
    months = np.arange("2020-01", "2024-01", dtype="M8[M]").astype("M8[s]")
    path = write(tmp_path, when=months, load=np.arange(48.0))
    assert len(windows(path)) == 48 - 5 - 2


@pytest.mark.parametrize(
    ("hours", "message"),
    [
        ([0, 1, 2, 2, 3], r"one row for each time of the series. Received: two or more at 19"),
        (
            [0, 1, 2, 2.5, 3, 4],
            r"most are 3600 s apart, but 1970-01-01T02:30:00 follows 1970-01-01T02",
        ),
    ],
)
def test_times_that_repeat_or_are_irregular_stop_the_ingest(tmp_path, hours, message):
    path = write(tmp_path, when=np.array(hours) * HOUR, load=np.arange(float(len(hours))))
    with pytest.raises(DataError, match=message):
        windows(path)


def test_files_given_by_split_are_refused(tmp_path):
    path = write(tmp_path, when=np.arange(30) * HOUR, load=np.arange(30.0))
    data = config(path)
    source = data.source.model_copy(update={"test_path": (str(path),)})
    with pytest.raises(DataError, match=r"Name them all in data.source.path"):
        resolve.open_source(data.model_copy(update={"source": source}), None)


def test_an_ingested_series_has_its_targets_in_order_and_apart(tmp_path):
    path = write(tmp_path, when=np.arange(200) * HOUR, load=np.arange(200.0))
    dataset = ingest.ingest(config(path), seed=0, cache_dir=tmp_path / "cache")
    ends = []
    for name in ("train", "validation", "test"):
        rows = [
            example.decode_example(record)
            for shard in dataset.manifest.splits[name].shards
            for record in tfrecord.read_records(dataset.path / shard.path)
        ]
        ends += [min(row["target"][0] for row in rows), max(row["target"][1] for row in rows)]
        assert all(row["time"] == [row["target"][0] * HOUR] for row in rows)
    assert ends == sorted(ends) and len(set(ends)) == 6


def test_a_split_too_short_for_a_target_says_what_to_raise(tmp_path):
    path = write(tmp_path, when=np.arange(30) * HOUR, load=np.arange(30.0))
    data = config(path, splits={"validation_share": 0.01})
    with pytest.raises(DataError, match=r"examples in the validation split.*validation_share"):
        ingest.ingest(data, seed=0, cache_dir=tmp_path / "cache")
