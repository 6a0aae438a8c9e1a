import pytest

from components.ingest import example, ingest, tfrecord
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources.base import Row
from tests.components import data_factories


def read_split(dataset: ingest.Dataset, split: str) -> list[dict]:
    return [
        example.decode_example(record)
        for shard in dataset.manifest.splits[split].shards
        for record in tfrecord.read_records(dataset.path / shard.path)
    ]


def number_rows(count):
    return tuple(
        Row(f"t.csv:{n}", {"size": float(n), "target": n / 2}, None, b"%d" % n)
        for n in range(count)
    )


def ingest_from(source, cache_dir):
    data = DataConfig.from_dict(
        {
            "source": {"kind": "csv", "path": "~/t.csv"},
            "table": {"columns": {"size": {"kind": "number"}}},
            "target": {"source_name": "target"},
            "splits": {"validation_share": 0.25, "test_share": 0.25},
        }
    )
    return ingest.ingest_source(source, data, seed=1, cache_dir=cache_dir)


def ingest_numbers(rows, cache_dir):
    return ingest_from(data_factories.RowsSource(rows), cache_dir)


def test_rows_without_labels_have_their_target_and_no_class_counts(tmp_path):
    dataset = ingest_numbers(number_rows(40), tmp_path)
    rows = read_split(dataset, "train")
    assert all(row["target"] == [row["size"][0] / 2] and "label" not in row for row in rows)
    assert dataset.manifest.splits["train"].class_counts == {}


def test_rows_of_one_group_share_a_split_and_keep_its_name(tmp_path):
    rows = tuple(
        row._replace(group=b"g%d" % (n % 5), time=n) for n, row in enumerate(number_rows(60))
    )
    dataset = ingest_numbers(rows, tmp_path)
    found = {
        split: {row["group"][0] for row in read_split(dataset, split)}
        for split in ("train", "validation", "test")
    }
    assert sum(map(len, found.values())) == 5
    assert all(row["time"] == [row["size"][0]] for row in read_split(dataset, "test"))


def write_csv(tmp_path, num_rows):
    lines = [f"{n},{n / 2},{n % 7},{1000 + n}\n" for n in range(num_rows)]
    (tmp_path / "t.csv").write_text("size,target,who,when\n" + "".join(lines))


def ingest_csv(tmp_path, **split_values):
    data = DataConfig.from_dict(
        {
            "source": {"kind": "csv", "path": str(tmp_path / "t.csv")},
            "table": {"columns": {"size": {"kind": "number"}}},
            "target": {"source_name": "target"},
            "splits": {"validation_share": 0.25, "test_share": 0.25, **split_values},
        }
    )
    return ingest.ingest(data, seed=1, cache_dir=tmp_path / "cache")


def test_a_file_is_split_by_a_column_of_times(tmp_path):
    write_csv(tmp_path, 100)
    dataset = ingest_csv(tmp_path, by="time", key="when")
    found = [
        sorted(row["size"][0] for row in read_split(dataset, split))
        for split in ("train", "validation", "test")
    ]
    assert found == [list(range(50)), list(range(50, 75)), list(range(75, 100))]


def test_rows_of_a_file_stay_in_their_split_when_it_grows(tmp_path):
    found = []
    for num_rows in (100, 150):
        write_csv(tmp_path, num_rows)
        dataset = ingest_csv(tmp_path)
        found.append(
            {
                row["key"][0]: split
                for split in ("train", "validation", "test")
                for row in read_split(dataset, split)
            }
        )
    assert found[0].items() <= found[1].items()
    assert len(found[0]) == 100


def test_every_fold_of_a_file_has_the_same_test_split(tmp_path):
    write_csv(tmp_path, 100)
    found = [ingest_csv(tmp_path, folds=3, fold=fold) for fold in range(3)]
    keys = [
        [{row["key"][0] for row in read_split(dataset, split)} for dataset in found]
        for split in ("test", "validation")
    ]
    assert keys[0][0] == keys[0][1] == keys[0][2]
    assert len(set.union(*keys[1])) == sum(map(len, keys[1])) == 100 - len(keys[0][0])


@pytest.mark.parametrize(
    ("happen", "message"),
    [
        (lambda path: path.write_text("size,target\n1,2\n"), r"t.csv, which was written meanwhile"),
        (lambda path: path.unlink(), r"t.csv, which is gone meanwhile"),
    ],
)
def test_a_file_that_changes_while_it_is_read_leaves_no_dataset(tmp_path, happen, message):
    path = tmp_path / "t.csv"
    path.write_text("size,target\n5,6\n")

    class ChangingSource(data_factories.RowsSource):
        def files(self):
            return {"t.csv": path}

        def rows(self):
            happen(path)
            return super().rows()

    with pytest.raises(DataError, match=message):
        ingest_from(ChangingSource(number_rows(40)), tmp_path)
    assert not [found for found in (tmp_path / "datasets").iterdir() if found.is_dir()]
