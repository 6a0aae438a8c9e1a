from components.ingest import example, ingest, tfrecord
from components.ingest.config import DataConfig
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


def ingest_numbers(rows, cache_dir):
    data = DataConfig.from_dict(
        {
            "source": {"kind": "sklearn", "name": "digits"},
            "table": {"columns": {"size": {"kind": "number"}}},
            "target": {"source_name": "target"},
            "splits": {"validation_share": 0.25, "test_share": 0.25},
        }
    )
    source = data_factories.RowsSource(rows)
    return ingest.ingest_source(source, data, seed=1, cache_dir=cache_dir)


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
