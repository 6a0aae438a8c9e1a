"""The look of an image in its fingerprint: a grey thumbnail of 16 x 16 px, a colour one of 4 x 4.

Legend: N images, H height, W width, C channels.
"""

import functools

import numpy as np
import PIL.Image

GREY_PX = 16
COLOUR_PX = 4
FIELDS = [("grey", "u1", (GREY_PX, GREY_PX)), ("colour", "u1", (COLOUR_PX, COLOUR_PX, 3))]
# Rec. 601 luma, which Pillow uses too.
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def array_looks(images_NHWC: np.ndarray) -> list[bytes]:
    """Shrinks images by averaging areas; returns the look of each.

    >>> look = array_looks(np.full((1, 32, 48, 3), 7, np.uint8))[0]
    >>> len(look), set(look)
    (304, {7})
    """
    images = images_NHWC.astype(np.float32)
    if images.shape[3] == 1:
        grey_N = _shrink(images[..., 0], GREY_PX)
        colour_N = np.repeat(_shrink(images[..., 0], COLOUR_PX)[..., None], 3, axis=3)
    else:
        grey_N = _shrink(images @ _LUMA, GREY_PX)
        channels = [_shrink(images[..., channel], COLOUR_PX) for channel in range(3)]
        colour_N = np.stack(channels, axis=3)
    return [
        grey.tobytes() + colour.tobytes() for grey, colour in zip(grey_N, colour_N, strict=True)
    ]


def picture_look(picture: PIL.Image.Image) -> bytes:
    """Shrinks one opened picture in the same way."""
    if picture.mode.startswith("I"):
        # Pillow cuts 16 bits off at 255 instead of scaling them.
        picture = picture.convert("I").point(lambda value: value / 256).convert("L")
    if "transparency" in picture.info:
        # Said first, or Pillow warns that it is lost.
        picture = picture.convert("RGBA")
    # Whole pixels are averaged by Pillow, which is fast; fractions of them by exact weights.
    columns, rows = (max(1, size_px // (2 * GREY_PX)) for size_px in picture.size)
    small = picture.convert("L" if picture.mode in ("1", "L", "LA") else "RGB").reduce(
        (columns, rows)
    )
    pixels = np.asarray(small)
    return array_looks(pixels.reshape(1, *pixels.shape[:2], -1))[0]


def _shrink(images_NHW: np.ndarray, size_px: int) -> np.ndarray:
    rows, columns = (_area_matrix(old_px, size_px) for old_px in images_NHW.shape[1:])
    return np.rint(rows @ images_NHW @ columns.T).astype(np.uint8)


@functools.cache
def _area_matrix(old_px: int, size_px: int) -> np.ndarray:
    """Weights (size_px, old_px) with which each of equal areas averages the pixels it covers."""
    edges = np.linspace(0, old_px, size_px + 1)
    pixels = np.arange(old_px)
    ends = np.minimum(edges[1:, None], pixels + 1)
    starts = np.maximum(edges[:-1, None], pixels)
    overlaps = np.clip(ends - starts, 0, None)
    return (overlaps / overlaps.sum(1, keepdims=True)).astype(np.float32)
