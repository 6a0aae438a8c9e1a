import io
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from components.ingest import ingest, survey
from components.ingest.errors import DataError
from tests.components import data_factories

SHARES = {"validation_share": 0.15, "test_share": 0.15}


def write_images(
    folder: Path, counts: dict[str, int], *, mode: str = "RGB", width_px: int = 6
) -> None:
    generator = np.random.default_rng(sum(counts.values()))
    for name, count in counts.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            pixels = generator.integers(0, 256, (4, width_px, 3), np.uint8)
            buffer = io.BytesIO()
            PIL.Image.fromarray(pixels).convert(mode).save(buffer, "PNG")
            (folder / name / f"{width_px}-{number}.png").write_bytes(buffer.getvalue())


def test_classes_sizes_and_colours_are_found(tmp_path):
    write_images(tmp_path, {"ant": 20, "bee": 60})
    found = survey.survey_folder(tmp_path, **SHARES)
    assert found.class_counts == {"ant": 20, "bee": 60}
    assert (found.median_height_px, found.median_width_px, found.has_one_size) == (4, 6, True)
    assert (found.is_grey, found.has_test_split, found.majority_share) == (False, False, 0.75)


def test_other_sizes_and_grey_are_noticed(tmp_path):
    write_images(tmp_path, {"ant": 30, "bee": 30}, mode="L")
    write_images(tmp_path, {"ant": 1}, mode="L", width_px=9)
    found = survey.survey_folder(tmp_path, **SHARES)
    assert found.is_grey and not found.has_one_size and found.median_width_px == 6


def test_given_test_split_is_noticed(tmp_path):
    write_images(tmp_path / "train", {"ant": 30, "bee": 30})
    write_images(tmp_path / "test", {"ant": 3, "bee": 3})
    found = survey.survey_folder(tmp_path, **SHARES)
    assert found.has_test_split and found.num_images == 60


def test_with_the_seed_every_split_has_every_class(tmp_path):
    write_images(tmp_path / "pictures", {"ant": 6, "bee": 6, "cat": 6})
    found = survey.survey_folder(tmp_path / "pictures", **SHARES)
    data = data_factories.data_config(
        source={"kind": "image_folder", "path": str(tmp_path / "pictures")},
        image={"height_px": 4, "width_px": 6, "channels": 3},
        splits=SHARES,
    )
    manifest = ingest.ingest(data, seed=found.seed, cache_dir=tmp_path / "cache").manifest
    assert all(min(split.class_counts.values()) >= 1 for split in manifest.splits.values())


def test_class_too_small_for_every_split_is_named(tmp_path):
    write_images(tmp_path, {"ant": 30, "bee": 2})
    with pytest.raises(DataError, match=r'files for 3 splits. Received: 2 of "bee". Add files'):
        survey.survey_folder(tmp_path, **SHARES)


def test_one_class_is_refused(tmp_path):
    write_images(tmp_path, {"ant": 30})
    with pytest.raises(DataError, match=r"at least two classes in .*Received: \['ant'\]"):
        survey.survey_folder(tmp_path, **SHARES)


def test_file_that_is_no_image_is_named(tmp_path):
    write_images(tmp_path, {"ant": 3, "bee": 3})
    (tmp_path / "ant" / "0.txt").write_text("hello")
    with pytest.raises(DataError, match=r"Expected .*ant/0.txt to be an image. Received: cannot"):
        survey.survey_folder(tmp_path, **SHARES)


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(DataError, match=r"Received: .*nowhere, which is no folder"):
        survey.survey_folder(tmp_path / "nowhere", **SHARES)
