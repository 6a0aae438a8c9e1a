"""Ingests small sources, and reads what was written."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet

from components.ingest import example, ingest, table_survey, tfrecord
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


def survey_columns(folder: Path, columns: dict[str, Sequence]) -> table_survey.TableSurvey:
    """Looks at a table that was written as Parquet."""
    path = folder / "table.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return table_survey.survey_table(path)
