"""Fashion-MNIST from the Debian package's gzipped IDX files, as a user's script would read it."""

import gzip
import pathlib

import numpy as np

SPLIT_PREFIXES = {"train": "train", "test": "t10k"}


def read_split(folder: pathlib.Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns uint8 images_BHW1 and int64 labels_B of `split`, which is `train` or `test`."""
    prefix = SPLIT_PREFIXES[split]
    with gzip.open(folder / f"{prefix}-images-idx3-ubyte.gz") as file:
        images_BHW1 = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28, 1)
    with gzip.open(folder / f"{prefix}-labels-idx1-ubyte.gz") as file:
        labels_B = np.frombuffer(file.read(), np.uint8, offset=8).astype(np.int64)
    return images_BHW1, labels_B
