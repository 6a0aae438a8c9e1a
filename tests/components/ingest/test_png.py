import io

import numpy as np
import PIL.Image
import pytest

from components.ingest import png


@pytest.mark.parametrize("shape", [(3, 4, 5, 1), (3, 4, 5, 3), (2, 100, 90, 3)])
def test_pillow_reads_the_pixels_that_were_encoded(shape):
    images_NHWC = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    decoded = [np.asarray(PIL.Image.open(io.BytesIO(file))) for file in png.encode_png(images_NHWC)]
    np.testing.assert_array_equal(np.stack(decoded).reshape(shape), images_NHWC)


def test_large_images_are_compressed():
    (file,) = png.encode_png(np.zeros((1, 200, 200, 3), np.uint8))
    assert len(file) < 5_000


@pytest.mark.parametrize(
    "images",
    [np.zeros((2, 4, 4, 1)), np.zeros((4, 4, 1), np.uint8), np.zeros((2, 4, 4, 2), np.uint8)],
)
def test_other_arrays_are_refused(images):
    with pytest.raises(ValueError, match=r"Expected uint8 images of shape .* Received: dtype="):
        next(png.encode_png(images))
