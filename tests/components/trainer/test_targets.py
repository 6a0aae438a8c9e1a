import numpy as np
import pytest
import tensorflow as tf

from components.trainer import targets


def _write(path, targets_BN):
    with tf.io.TFRecordWriter(str(path)) as file:
        for target_N in targets_BN:
            feature = tf.train.Feature(float_list=tf.train.FloatList(value=target_N))
            features = tf.train.Features(feature={"target": feature})
            file.write(tf.train.Example(features=features).SerializeToString())
    return str(path)


def test_scale_is_that_of_all_numbers_of_all_shards(tmp_path):
    targets_BN = np.random.default_rng(0).normal(1e6, 2.0, (5000, 2)).astype("float32")
    shards = [
        _write(tmp_path / "a", targets_BN[:4500]),
        _write(tmp_path / "b", targets_BN[4500:]),
    ]
    scale = targets.measure(shards, num_numbers=2)
    assert scale.mean == pytest.approx(targets_BN.astype("float64").mean(), rel=1e-12)
    assert scale.deviation == pytest.approx(targets_BN.astype("float64").std(), rel=1e-9)


def test_targets_that_are_all_the_same_are_refused(tmp_path):
    shard = _write(tmp_path / "a", np.full((3, 1), 7.5))
    with pytest.raises(ValueError, match="must differ.*Received: 3 numbers, each 7.5"):
        targets.measure([shard], num_numbers=1)


def test_target_that_is_no_number_is_refused(tmp_path):
    shard = _write(tmp_path / "a", np.array([[1.0], [np.nan]]))
    with pytest.raises(ValueError, match="finite number. Received: nan"):
        targets.measure([shard], num_numbers=1)
