"""Ingests small sources, and reads what was written."""

from components.ingest import example, ingest, tfrecord
from tests.components import data_factories


def run(source, cache_dir, *, seed=7, processes=None, **changes):
    """Ingests a source; `changes` replace blocks of the recipe's data."""
    data = data_factories.data_config(**changes)
    return ingest.ingest_source(source, data, seed=seed, cache_dir=cache_dir, processes=processes)


def read_split(dataset: ingest.Dataset, split: str) -> list[dict]:
    """Returns the rows of a split, shard by shard."""
    paths = sorted((dataset.path / f"Split-{split}").iterdir())
    return [
        example.decode_example(record) for path in paths for record in tfrecord.read_records(path)
    ]
