import io
import json

import numpy as np
import PIL.Image
import pytest

from components.data_guard import distributions, duplicates, guard, near
from components.data_guard.config import DataGuardConfig
from components.data_guard.findings import Finding
from components.gates import GateRefusedError
from tests.components.data_guard import guard_data

CONFIG = DataGuardConfig()


@pytest.fixture
def arrays():
    return guard_data.clean_arrays()


def find(check, arrays, folder, *more, **config):
    return check(guard_data.make_table(arrays, folder), DataGuardConfig(**config), *more)


def test_clean_data_gives_no_finding(arrays, tmp_path):
    assert guard.find_all(guard_data.ingest_arrays(arrays, tmp_path), CONFIG) == []


def test_every_planted_leak_is_found_and_stops(arrays, tmp_path):
    arrays["test"][0][::10] = arrays["train"][0][: len(arrays["test"][0][::10])]
    (finding,) = find(duplicates.find_exact_leaks, arrays, tmp_path)
    assert finding.amount == 15 / 300 and finding.stops
    planted = {(f"test/{row * 10:08d}", f"train/{row:08d}") for row in range(15)}
    assert len(set(finding.examples) & planted) == 3


def test_leak_below_the_limit_is_reported_and_does_not_stop(arrays, tmp_path):
    arrays["validation"][0][7] = arrays["train"][0][5]
    (finding,) = find(duplicates.find_exact_leaks, arrays, tmp_path, max_exact_leak_share=0.01)
    assert not finding.stops and finding.sentence.startswith("1 images of validation")


def test_copies_within_training_are_counted_without_the_first(arrays, tmp_path):
    arrays["train"][0][100:103] = arrays["train"][0][3]
    (finding,) = find(duplicates.find_exact_duplicates, arrays, tmp_path)
    assert finding.sentence == "3 training images are copies of another one."
    assert set(finding.examples[0]) <= {f"train/{row:08d}" for row in (3, 100, 101, 102)}


def test_copies_with_other_labels_are_conflicts(arrays, tmp_path):
    arrays["train"][0][100] = arrays["train"][0][3]
    none = np.empty((0, 2), np.int64)
    (finding,) = find(duplicates.find_conflicts, arrays, tmp_path, none)
    assert finding.amount == 2 / 900
    assert set(finding.examples[0]) == {"train/00000003 (ant)", "train/00000100 (bee)"}


def test_copies_with_the_same_label_are_no_conflict(arrays, tmp_path):
    arrays["train"][0][102] = arrays["train"][0][3]
    none = np.empty((0, 2), np.int64)
    assert find(duplicates.find_conflicts, arrays, tmp_path, none) == []


def jpeg(image: np.ndarray) -> np.ndarray:
    buffer = io.BytesIO()
    PIL.Image.fromarray(image.squeeze()).save(buffer, "JPEG", quality=70)
    return np.asarray(PIL.Image.open(buffer)).reshape(image.shape)


def resize(image: np.ndarray) -> np.ndarray:
    small = PIL.Image.fromarray(image.squeeze()).resize((24, 24), PIL.Image.Resampling.BICUBIC)
    return np.asarray(small.resize((32, 32), PIL.Image.Resampling.BICUBIC)).reshape(image.shape)


NEAR_COPIES = {
    "encoded again": jpeg,
    "resized": resize,
    "brightened": lambda image: np.clip(image.astype(int) + 10, 0, 255).astype(np.uint8),
    "dimmed": lambda image: (image * 0.9).astype(np.uint8),
    "noisy": lambda image: np.clip(
        image + np.random.default_rng(0).normal(0, 3, image.shape), 0, 255
    ).astype(np.uint8),
}


@pytest.mark.parametrize("how", NEAR_COPIES)
@pytest.mark.parametrize("channels", [1, 3])
def test_at_least_95_percent_of_near_copies_are_found(how, channels, tmp_path):
    arrays = guard_data.clean_arrays(channels=channels)
    for row in range(100):
        arrays["test"][0][row] = NEAR_COPIES[how](arrays["train"][0][row * 5])
    table = guard_data.make_table(arrays, tmp_path)
    found = {tuple(map(table.key, pair)) for pair in near.find_near_pairs(table)}
    planted = {(f"train/{row * 5:08d}", f"test/{row:08d}") for row in range(100)}
    assert len(found & planted) >= 95 and not found - planted


def test_near_copies_across_splits_stop_the_run(arrays, tmp_path):
    arrays["test"][0][:6] = arrays["train"][0][:6] // 2 * 2
    table = guard_data.make_table(arrays, tmp_path)
    (finding,) = near.find_near_leaks(table, CONFIG, near.find_near_pairs(table))
    assert finding.stops and finding.amount == 6 / 300
    assert finding.examples[0] == ("test/00000000", "train/00000000")


def test_near_copies_within_training_only_inform(arrays, tmp_path):
    arrays["train"][0][300:310] = arrays["train"][0][:10] // 2 * 2
    table = guard_data.make_table(arrays, tmp_path)
    (finding,) = near.find_near_duplicates(table, CONFIG, near.find_near_pairs(table))
    assert finding.sentence.startswith("20 training images") and not finding.stops


def test_the_same_shape_in_another_colour_is_no_near_copy(tmp_path):
    arrays = guard_data.clean_arrays(channels=3)
    arrays["test"][0][:20] = arrays["train"][0][:20]
    arrays["train"][0][:20, :, :, 1:] //= 2
    arrays["test"][0][:20, :, :, ::2] //= 2
    assert len(near.find_near_pairs(guard_data.make_table(arrays, tmp_path))) == 0


def test_the_same_shape_in_black_and_white_is_no_near_copy(arrays, tmp_path):
    arrays["test"][0][:20] = arrays["train"][0][:20] // 3
    assert len(near.find_near_pairs(guard_data.make_table(arrays, tmp_path))) == 0


def test_blank_images_stop_above_their_limit(arrays, tmp_path):
    arrays["train"][0][:30] = 255
    (finding,) = find(distributions.find_blank_images, arrays, tmp_path)
    assert finding.stops and finding.amount == 30 / 900


def test_rare_class_is_named_with_its_count(arrays, tmp_path):
    labels = arrays["train"][1]
    labels[labels == 2] = 0
    labels[:7] = 2
    (finding,) = find(distributions.find_rare_classes, arrays, tmp_path)
    assert finding.sentence == "Rare in the training split: cat (7); an equal share is 200."


def test_shifted_labels_are_found_in_the_split_that_has_them(arrays, tmp_path):
    arrays["test"][1][:120] = 1
    (finding,) = find(distributions.find_label_shift, arrays, tmp_path)
    assert "of test differ" in finding.sentence and finding.stops
    assert finding.amount == pytest.approx((130 / 150) - 1 / 3, abs=0.01)


def test_labels_that_differ_by_chance_are_no_shift(arrays, tmp_path):
    generator = np.random.default_rng(0)
    for split in arrays:
        arrays[split][1][:] = generator.integers(0, 3, len(arrays[split][1]))
    assert find(distributions.find_label_shift, arrays, tmp_path) == []


def test_darker_split_is_found(arrays, tmp_path):
    arrays["validation"][0][:] = arrays["validation"][0] // 2
    findings = find(distributions.find_pixel_shift, arrays, tmp_path)
    assert [finding.sentence.split(" differs")[0] for finding in findings] == [
        "The brightness of validation",
        "The contrast of validation",
    ]
    assert all(finding.stops for finding in findings)


def test_mark_in_a_corner_that_tells_the_label_stops_the_run(arrays, tmp_path):
    for images, labels in arrays.values():
        images[:, 30:, 28:30, 0] = (labels * 100)[:, None, None]
    (finding,) = find(distributions.find_shortcut, arrays, tmp_path)
    assert finding.stops and finding.amount == 1.0
    assert "row 16 and column 15 of a 16 x 16 grid alone tells 100.0%" in finding.sentence


FINDING = Finding(
    name="exact_leaks",
    amount=0.05,
    limit=0.001,
    sentence="15 images are in both.",
    examples=(("test/1", "train/2"),),
    cure="Remove them.",
)


def test_refusal_names_amount_limit_examples_and_cure():
    message = (
        r"The data guard found 1 reason to stop. 15 images are in both \(5.00%, at most 0.10%\). "
        r"For example test/1 = train/2. Remove them. "
        r"Or accept with a reason in data_guard.accept: exact_leaks."
    )
    with pytest.raises(GateRefusedError, match=message):
        guard.check([FINDING], CONFIG)


def test_accepted_finding_does_not_stop():
    config = DataGuardConfig(accept={"exact_leaks": "The benchmark is published like this."})
    guard.check([FINDING], config)


def test_acceptance_needs_a_reason_and_a_known_name():
    with pytest.raises(ValueError, match=r"at least 10 characters"):
        DataGuardConfig(accept={"exact_leaks": "ok"})
    with pytest.raises(ValueError, match=r"exact_leak"):
        DataGuardConfig(accept={"exact_leak": "The benchmark is published like this."})


def test_findings_can_be_written_as_json():
    assert json.loads(json.dumps(FINDING.to_dict()))["stops"] is True


def test_a_row_can_be_looked_up_in_any_shard(arrays, tmp_path):
    table = guard_data.make_table(arrays, tmp_path)
    keys = [table.key(row) for row in range(len(table.labels_N))]
    assert len(set(keys)) == 900 and keys[750].startswith("test/")
    row = keys.index("validation/00000123")
    pixels = np.asarray(PIL.Image.open(io.BytesIO(table.image(row))))
    np.testing.assert_array_equal(pixels, arrays["validation"][0][123, :, :, 0])
