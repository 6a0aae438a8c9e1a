import pathlib
import types

import numpy as np
import pytest
import tensorflow as tf

from components import host_memory
from components.input_pipeline import decoded_file
from tests.components import data_factories

SPEC = (
    {"image": tf.TensorSpec((None, 2, 3), tf.uint8), "x": tf.TensorSpec((None,), tf.float32)},
    tf.TensorSpec((None, 2), tf.int64),
)


def batch(num_rows):
    generator = np.random.default_rng(0)
    return (
        {
            "image": generator.integers(0, 256, (num_rows, 2, 3), np.uint8),
            "x": generator.normal(size=num_rows).astype("float32"),
        },
        generator.integers(-(2**40), 2**40, (num_rows, 2)),
    )


def test_what_was_written_comes_back_bit_for_bit():
    rows = batch(7)
    file = decoded_file.write(tf.data.Dataset.from_tensor_slices(rows).batch(3))
    records = np.array(list(tf.data.TFRecordDataset(file.path).as_numpy_iterator()))
    tf.nest.map_structure(np.testing.assert_array_equal, file.decode(tf.constant(records)), rows)
    assert pathlib.Path(file.path).stat().st_size == file.index(8).offsets_N[-1]


@pytest.mark.parametrize(
    ("memory", "disk", "expected"),
    [(10400, 0, "memory"), (10399, 5200, "disk"), (10399, 5199, "none")],
)
def test_cache_is_chosen_by_what_is_free(monkeypatch, memory, disk, expected):
    """100 examples of 26 bytes: 2,600; shares of a quarter and of half."""
    assert decoded_file.example_bytes(SPEC) == 26
    free = types.SimpleNamespace(free=disk)
    monkeypatch.setattr(host_memory, "available_bytes", lambda: memory)
    monkeypatch.setattr(decoded_file.shutil, "disk_usage", lambda folder: free)
    assert decoded_file.choose_cache(SPEC, num_rows=100) == expected


def test_file_is_removed_when_the_process_ends():
    code = """
import tensorflow as tf
from components import host_memory
from components.input_pipeline import decoded_file
print(decoded_file.write(tf.data.Dataset.from_tensors(tf.zeros((2, 3)))).path)
"""
    path = pathlib.Path(data_factories.run_python(code).strip())
    assert path.name == "examples" and not path.parent.exists()
