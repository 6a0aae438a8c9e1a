import hashlib
import io

import numpy as np
import PIL.Image
import pytest

from components.ingest import fingerprint, ingest
from tests.components import data_factories


@pytest.mark.parametrize("shape", [(3, 32, 48, 1), (3, 160, 80, 3)])
def test_arrays_and_pictures_give_the_same_thumbnails(shape):
    images_NHWC = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    found = fingerprint.array_thumbnails(images_NHWC)
    for image, thumbnail in zip(images_NHWC, found, strict=True):
        picture = PIL.Image.fromarray(image.squeeze())
        expected = np.frombuffer(fingerprint.picture_thumbnail(picture), np.uint8)
        assert np.abs(thumbnail.ravel() - expected.astype(int)).max() <= 2


@pytest.mark.parametrize("size_px", [1, 8, 16, 28, 100])
def test_a_plain_image_has_a_plain_thumbnail_whatever_its_size(size_px):
    found = fingerprint.array_thumbnails(np.full((1, size_px, size_px, 1), 200, np.uint8))
    assert found.shape == (1, 16, 16) and set(found.ravel().tolist()) == {200}


def test_sixteen_bits_are_scaled():
    picture = PIL.Image.fromarray(np.full((20, 20), 0x8000, np.uint16))
    assert set(fingerprint.picture_thumbnail(picture)) == {0x80}


def test_every_row_has_its_fingerprint_in_the_order_of_its_shard(tmp_path):
    source = data_factories.write_idx_dataset(tmp_path / "source")
    data = data_factories.data_config()
    dataset = ingest.ingest_source(source, data, seed=0, cache_dir=tmp_path / "cache")
    found = fingerprint.read_fingerprints(dataset.path / "fingerprints" / "test-00000")
    images, labels = data_factories.random_images(60, seed=60)
    assert found["label"].tolist() == labels.tolist()
    expected = [hashlib.sha256(image.tobytes()).digest()[:8] for image in images]
    assert [value.tobytes() for value in found["content"]] == expected


def test_pictures_of_files_are_opened_whatever_their_mode():
    buffer = io.BytesIO()
    PIL.Image.new("LA", (20, 20), (90, 0)).save(buffer, "PNG")
    assert set(fingerprint.picture_thumbnail(PIL.Image.open(buffer))) == {90}
