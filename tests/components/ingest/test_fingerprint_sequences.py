import numpy as np

from components.ingest import fingerprint, fingerprint_sequences
from components.ingest.features.config import SequenceColumn


def test_a_look_is_the_means_of_parts_and_the_spread():
    column = SequenceColumn(kind="sequence", length=16, any_length=True)
    full, short = np.arange(16, dtype=np.float32), np.array([4.0, 6.0], np.float32)
    looks = fingerprint_sequences.looks([full, short], column)
    np.testing.assert_allclose(looks[0, :8], np.arange(8) * 2 + 0.5)
    np.testing.assert_allclose(looks[0, 8], np.std(np.arange(16)), rtol=1e-6)
    assert looks[1, 0] == 5.0 and looks[1, 8] == 1.0
    assert np.isnan(looks[1, 1:8]).all()


def test_each_channel_has_a_look_of_its_own_under_its_name():
    column = SequenceColumn(kind="sequence", length=1, channels=2)
    names = fingerprint_sequences.look_names("x", column)
    looks = fingerprint_sequences.looks([np.array([3.0, 5.0], np.float32)], column)
    assert dict(zip(names, looks[0].tolist(), strict=True)) == {
        "x (mean of steps 1 to 1, channel 1)": 3.0,
        "x (mean of steps 1 to 1, channel 2)": 5.0,
        "x (spread, channel 1)": 0.0,
        "x (spread, channel 2)": 0.0,
    }


def test_rows_whose_lists_differ_in_order_alone_are_not_equal():
    rows = [np.array(values, np.float32) for values in ([1, 2], [2, 1], [1, 2], [0, -0.0], [0, 0])]
    numbers = {"n": np.zeros(5, np.float32)}
    looks = fingerprint.table_looks(numbers, {}, {"x": rows})
    assert looks[0] == looks[2] and looks[3] == looks[4]
    assert len({*looks}) == 3
