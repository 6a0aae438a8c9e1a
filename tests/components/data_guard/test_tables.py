import numpy as np
import pytest

from components.data_guard import columns, duplicates, labels, leaks, near
from components.data_guard.config import DataGuardConfig
from tests.components.data_guard import guard_data

CONFIG = DataGuardConfig()
GENERATOR = np.random.default_rng(7)


@pytest.fixture
def tables():
    return guard_data.Tables.clean()


def find_columns(tables, folder, name):
    found = columns.find_column_findings(tables.open(folder), CONFIG)
    return [finding for finding in found if finding.name == name]


LEAKS = {
    "copy": lambda found: found * 1.0,
    "code": lambda found: np.array([17.0, -3.0, 5.0])[found],
    "noisy copy": lambda found: found + GENERATOR.normal(0, 0.1, len(found)),
    "copy with 2 % errors": lambda found: np.where(np.arange(len(found)) % 50, found, 1) * 1.0,
    "copy of which one in fifty is missing": lambda found: np.where(
        np.arange(len(found)) % 50, found, np.nan
    ),
    "missing for one class": lambda found: np.where(found == 0, np.nan, found * 1.0),
    "names": lambda found: np.array([b"x", b"y", b"z"], object)[found],
    "many names": lambda found: np.array(
        [b"%d-%d" % (label, index % 9) for index, label in enumerate(found)], object
    ),
}


@pytest.mark.parametrize("how", LEAKS)
def test_a_column_that_tells_the_label_stops_the_run(how, tables, tmp_path):
    tables.add("leak", LEAKS[how])
    (finding,) = find_columns(tables, tmp_path, "target_leak")
    assert finding.stops and "guess: leak (" in finding.sentence


@pytest.mark.parametrize("how", ["copy", "noisy copy"])
def test_a_column_that_tells_the_target_stops_the_run(how, tables, tmp_path):
    tables.target = True
    tables.add("leak", LEAKS[how])
    (finding,) = find_columns(tables, tmp_path, "target_leak")
    assert finding.stops and "guess: leak (" in finding.sentence


def test_a_good_but_honest_column_is_no_leak(tables, tmp_path):
    tables.add("hint", lambda found: found + GENERATOR.normal(0, 0.4, len(found)))
    assert find_columns(tables, tmp_path, "target_leak") == []


def test_a_rare_label_alone_makes_no_leak(tables, tmp_path):
    for found in tables.labels.values():
        found[:] = 0
        found[:2] = (1, 2)
    assert find_columns(tables, tmp_path, "target_leak") == []


def test_constant_and_empty_columns_are_named(tables, tmp_path):
    tables.add("fixed", lambda found: found * 0.0 + 4)
    tables.add("empty", lambda found: found * np.nan)
    tables.add("same", lambda found: np.array([b"x"] * len(found), object))
    (finding,) = find_columns(tables, tmp_path, "constant_columns")
    assert finding.sentence.endswith("fixed, empty, same.")
    assert finding.amount == pytest.approx(3 / 7) and not finding.stops


def test_a_constant_that_is_sometimes_missing_is_not_constant(tables, tmp_path):
    tables.add("flag", lambda found: np.where(np.arange(len(found)) % 3, 1.0, np.nan))
    assert find_columns(tables, tmp_path, "constant_columns") == []
    assert find_columns(tables, tmp_path / "again", "missing_values") == []


def test_mostly_missing_columns_are_named_with_their_share(tables, tmp_path):
    tables.add("gaps", lambda found: np.where(np.arange(len(found)) % 4, np.nan, found))
    (finding,) = find_columns(tables, tmp_path, "missing_values")
    assert finding.sentence == "Columns that are mostly missing in training: gaps (75.0%)."


def test_identical_columns_are_named_in_pairs(tables, tmp_path):
    for found in tables.columns.values():
        found["again"], found["e"] = found["b"].copy(), found["d"].copy()
    (finding,) = find_columns(tables, tmp_path, "identical_columns")
    assert finding.sentence.endswith("again = b, e = d.") and not finding.stops


@pytest.mark.parametrize("column", ["b", "d"])
def test_a_shifted_column_is_named_in_the_split_that_has_it(column, tables, tmp_path):
    values = tables.columns["test"][column]
    values[:] = values + 2 if column == "b" else b"red"
    (finding,) = find_columns(tables, tmp_path, "feature_shift")
    assert finding.sentence.startswith(f"Columns of test that differ from train's: {column} (")
    assert finding.stops


def test_values_that_are_missing_in_one_split_are_a_shift(tables, tmp_path):
    tables.columns["validation"]["a"][:100] = np.nan
    (finding,) = find_columns(tables, tmp_path, "feature_shift")
    assert "validation" in finding.sentence and finding.amount == pytest.approx(2 / 3, abs=0.05)


@pytest.mark.parametrize("split_by", ["time", "group"])
def test_shifts_only_inform_where_splits_go_by_time_or_group(split_by, tables, tmp_path):
    tables.split_by = split_by
    tables.columns["test"]["b"] += 2
    (finding,) = find_columns(tables, tmp_path, "feature_shift")
    assert finding.severity == "note"


def test_every_row_of_a_shared_group_is_counted(tables, tmp_path):
    tables.groups = {
        split: [b"%s-%d" % (split.encode(), index // 5) for index in range(size)]
        for split, size in guard_data.SIZES.items()
    }
    tables.groups["test"][10:15] = [tables.groups["train"][0]] * 5
    tables.groups["test"][20:22] = [tables.groups["validation"][7]] * 2
    (finding,) = leaks.find_group_leaks(tables.open(tmp_path), CONFIG)
    assert finding.sentence.startswith("2 groups are in several splits, with 7 rows of")
    assert finding.stops and finding.amount == 7 / 300
    assert set(finding.examples) == {
        ("test/00000010", "train/00000000"),
        ("test/00000020", "validation/00000005"),
    }


def test_groups_that_keep_to_their_splits_are_no_leak(tables, tmp_path):
    tables.groups = {split: [split.encode()] * size for split, size in guard_data.SIZES.items()}
    assert leaks.find_group_leaks(tables.open(tmp_path), CONFIG) == []


def times(**first_days: int) -> dict[str, list[int]]:
    return {
        split: [(first_days[split] + index) * 86400 for index in range(size)]
        for split, size in guard_data.SIZES.items()
    }


def test_training_rows_later_than_validation_stop_the_run(tables, tmp_path):
    tables.times = times(train=0, validation=600, test=750)
    tables.times["train"][17] = 605 * 86400
    (finding,) = leaks.find_time_leaks(tables.open(tmp_path), CONFIG)
    assert finding.sentence.endswith("1 row of train is later than the first of validation.")
    assert finding.stops and finding.examples == (("train/00000017",),)


def test_test_rows_from_before_the_end_of_validation_stop_the_run(tables, tmp_path):
    tables.times = times(train=0, validation=600, test=740)
    (finding,) = leaks.find_time_leaks(tables.open(tmp_path), CONFIG)
    assert "Validation and test overlap in time: 9 rows of validation" in finding.sentence


def test_splits_one_after_the_other_are_no_time_leak(tables, tmp_path):
    tables.times = times(train=0, validation=599, test=748)
    assert leaks.find_time_leaks(tables.open(tmp_path), CONFIG) == []


def test_a_column_of_times_in_splits_by_hash_is_noted(tables, tmp_path):
    tables.add("trip_start_timestamp", lambda found: np.arange(len(found)) * 1.0)
    (finding,) = leaks.find_ignored_time(tables.open(tmp_path), CONFIG)
    assert finding.severity == "note" and "trip_start_timestamp" in finding.sentence
    tables.split_by = "time"
    assert leaks.find_ignored_time(tables.open(tmp_path / "by_time"), CONFIG) == []


def near_pairs(dataset):
    return near.find_near_pairs(dataset, duplicates.find_copies(dataset))


def rounded(values):
    # Six digits become three or so.
    return np.round(values.astype(np.float64), 2)


NEAR_ROWS = {
    "rounded": rounded,
    "scaled by a thousandth": lambda values: values * 1.001,
    "noisy": lambda values: values + GENERATOR.normal(0, 0.002, len(values)),
}


@pytest.mark.parametrize("num_columns", [3, 30])
@pytest.mark.parametrize("how", NEAR_ROWS)
def test_at_least_95_percent_of_near_rows_are_found(how, num_columns, tables, tmp_path):
    for number in range(num_columns - 3):
        tables.add(f"n{number}", lambda found: GENERATOR.normal(size=len(found)))
    for name, values in tables.columns["test"].items():
        copied = tables.columns["train"][name][:500:5]
        values[:100] = copied if values.dtype == object else NEAR_ROWS[how](copied)
    dataset = tables.open(tmp_path)
    found = {dataset.keys(*pair) for pair in near_pairs(dataset)}
    planted = {(f"train/{row * 5:08d}", f"test/{row:08d}") for row in range(100)}
    assert len(found & planted) >= 95 and not found - planted


def test_rows_with_another_name_or_a_gap_are_no_near_copies(tables, tmp_path):
    for name, values in tables.columns["test"].items():
        values[:20] = tables.columns["train"][name][:20]
    tables.columns["test"]["a"][:10] += 0.001
    tables.columns["test"]["a"][10:20] = np.nan
    tables.columns["test"]["d"][:10] = b"another"
    assert len(near_pairs(tables.open(tmp_path))) == 0


def test_near_leaks_of_rows_stop_the_run(tables, tmp_path):
    for name, values in tables.columns["test"].items():
        copied = tables.columns["train"][name][:9]
        values[:9] = copied if name == "d" else rounded(copied)
    dataset = tables.open(tmp_path)
    (finding,) = near.find_near_leaks(dataset, CONFIG, near_pairs(dataset))
    assert finding.stops and finding.amount == 9 / 300
    assert finding.examples[0] == ("test/00000000", "train/00000000")


def test_rows_that_repeat_by_nature_are_no_leak(tables, tmp_path):
    for found in tables.columns.values():
        for name in "abc":
            found[name] = np.round(found[name])
    dataset = tables.open(tmp_path)
    copies = duplicates.find_copies(dataset)
    (finding,) = duplicates.find_exact_leaks(dataset, CONFIG, copies)
    assert finding.sentence.startswith("2") and not finding.stops


def test_a_leak_among_rows_that_repeat_by_nature_stops_the_run(tables, tmp_path):
    for found in tables.columns.values():
        for name in "ab":
            found[name] = np.round(found[name], 1)
    for name, values in tables.columns["test"].items():
        values[:75] = tables.columns["train"][name][:75]
    dataset = tables.open(tmp_path)
    (finding,) = duplicates.find_exact_leaks(dataset, CONFIG, duplicates.find_copies(dataset))
    assert finding.stops and finding.amount == pytest.approx(75 / 300, abs=0.02)


def test_sorted_labels_are_noted_and_shuffled_ones_are_not(tables, tmp_path):
    assert labels.find_order_bias(tables.open(tmp_path / "shuffled"), CONFIG) == []
    tables.labels["train"].sort()
    (finding,) = labels.find_order_bias(tables.open(tmp_path), CONFIG)
    assert finding.amount > 0.95 and finding.severity == "note"


def test_a_target_that_drifts_in_the_order_of_the_source_is_noted(tables, tmp_path):
    tables.target = True
    assert labels.find_order_bias(tables.open(tmp_path / "shuffled"), CONFIG) == []
    tables.labels["train"].sort()
    (finding,) = labels.find_order_bias(tables.open(tmp_path), CONFIG)
    assert "The targets come in runs" in finding.sentence and finding.amount > 0.95


def test_rare_class_is_named_with_its_count(tables, tmp_path):
    found = tables.labels["train"]
    found[found == 2] = 0
    found[:7] = 2
    (finding,) = labels.find_rare_classes(tables.open(tmp_path), CONFIG)
    counts = np.bincount(found)
    assert finding.sentence == "Rare in the training split: cat (7); an equal share is 200."
    assert counts[2] == 7


def test_shifted_labels_are_found_in_the_split_that_has_them(tables, tmp_path):
    tables.labels["test"][:120] = 1
    (finding,) = labels.find_label_shift(tables.open(tmp_path), CONFIG)
    assert "of test differ" in finding.sentence and finding.stops
    counts = [np.mean(tables.labels[split] == 1) for split in ("test", "train")]
    assert finding.sentence.endswith(f"most bee ({counts[0]:.1%}, in train {counts[1]:.1%}).")
    share = (tables.labels["test"] == 1).mean()
    assert finding.amount == pytest.approx(share - 1 / 3, abs=0.01)


def test_shifted_targets_are_found_in_the_split_that_has_them(tables, tmp_path):
    tables.target = True
    tables.labels["validation"][:] = 5
    (finding,) = labels.find_label_shift(tables.open(tmp_path), CONFIG)
    assert finding.sentence == (
        "The targets of validation differ from train's by 100.0% (a median of 5, in train 1)."
    )


def test_labels_that_differ_by_chance_are_no_shift(tables, tmp_path):
    generator = np.random.default_rng(0)
    for found in tables.labels.values():
        found[:] = generator.integers(0, 3, len(found))
    assert labels.find_label_shift(tables.open(tmp_path), CONFIG) == []
