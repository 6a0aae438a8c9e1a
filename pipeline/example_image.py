"""Copies one test image out of a dataset, so that the command which asks the model can be tried."""

import pathlib
import typing

from components.ingest import example, tfrecord

_PNG_START = b"\x89PNG"


def write(dataset_dir: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Writes the first image of the test split as `example.png` or `example.jpg`.

    Args:
        dataset_dir: The path that `components.ingest.ingest.ingest` returns; its test split is not
            empty, because ingest refuses such data.
        folder: Where to write.

    Returns:
        The file.
    """
    shards = sorted(dataset_dir.glob("Split-test/data_tfrecord-*"))
    record = next(record for shard in shards for record in tfrecord.read_records(shard))
    image = typing.cast(bytes, example.decode_example(record)["image"][0])
    path = folder / ("example.png" if image.startswith(_PNG_START) else "example.jpg")
    path.write_bytes(image)
    return path
