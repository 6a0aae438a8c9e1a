import io

import numpy as np
import PIL.Image
import pytest

from components.ingest import fingerprint_images


@pytest.mark.parametrize("shape", [(3, 32, 48, 1), (3, 160, 80, 3), (2, 28, 28, 1)])
def test_arrays_and_pictures_look_the_same(shape):
    coarse = np.random.default_rng(0).integers(0, 256, (shape[0], 4, 4, shape[3]), np.uint8)
    size = (shape[2], shape[1])
    images_NHWC = np.stack(
        [np.asarray(PIL.Image.fromarray(image.squeeze()).resize(size)) for image in coarse]
    ).reshape(shape)
    for image, look in zip(images_NHWC, fingerprint_images.array_looks(images_NHWC), strict=True):
        picture = PIL.Image.fromarray(image.squeeze())
        found, expected = (
            np.frombuffer(data, np.uint8).astype(int)
            for data in (look, fingerprint_images.picture_look(picture))
        )
        assert np.abs(found - expected).max() <= 3


@pytest.mark.parametrize("size_px", [1, 8, 16, 28, 100])
def test_a_plain_image_looks_plain_whatever_its_size(size_px):
    (look,) = fingerprint_images.array_looks(np.full((1, size_px, size_px, 1), 200, np.uint8))
    assert (len(look), set(look)) == (304, {200})


def test_colours_are_kept_apart():
    red = np.zeros((1, 20, 20, 3), np.uint8)
    red[..., 0] = 200
    (look,) = fingerprint_images.array_looks(red)
    assert list(look[16 * 16 : 16 * 16 + 3]) == [200, 0, 0]


def test_sixteen_bits_are_scaled():
    picture = PIL.Image.fromarray(np.full((20, 20), 0x8000, np.uint16))
    assert set(fingerprint_images.picture_look(picture)) == {0x80}


def test_pictures_of_files_are_opened_whatever_their_mode():
    buffer = io.BytesIO()
    PIL.Image.new("LA", (20, 20), (90, 0)).save(buffer, "PNG")
    assert set(fingerprint_images.picture_look(PIL.Image.open(buffer))) == {90}
