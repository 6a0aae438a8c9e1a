"""What the data guard needs to know of each row, noted while its pixels are at hand.

A fingerprint is the hash of the row's content, its label, and a grey thumbnail of 16 x 16 px: 268
bytes, in a file per shard, in the order of the shard's rows.

Legend: N images, H height, W width, C channels.
"""

import functools
import hashlib
from pathlib import Path

import numpy as np
import PIL.Image

FOLDER = "fingerprints"
SIZE_PX = 16
FINGERPRINT = np.dtype(
    [("content", "<u8"), ("label", "<i4"), ("thumbnail", "u1", (SIZE_PX, SIZE_PX))]
)
# Rec. 601 luma, which Pillow uses too.
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def encode_fingerprint(*, content: bytes, label: int, thumbnail: bytes) -> bytes:
    """Returns one element of the dtype `FINGERPRINT` as bytes."""
    return hashlib.sha256(content).digest()[:8] + label.to_bytes(4, "little") + thumbnail


def read_fingerprints(path: Path) -> np.ndarray:
    """Reads the fingerprints of a shard, shape (N,), dtype `FINGERPRINT`."""
    return np.fromfile(path, FINGERPRINT)


def array_thumbnails(images_NHWC: np.ndarray) -> np.ndarray:
    """Shrinks images by averaging areas: uint8 of shape (N, 16, 16).

    >>> array_thumbnails(np.full((1, 32, 48, 3), 7, np.uint8)).max()
    np.uint8(7)
    """
    if images_NHWC.shape[3] == 1:
        grey_NHW = images_NHWC[..., 0].astype(np.float32)
    else:
        grey_NHW = images_NHWC.astype(np.float32) @ _LUMA
    rows, columns = (_area_matrix(size) for size in grey_NHW.shape[1:])
    return np.rint(rows @ grey_NHW @ columns.T).astype(np.uint8)


def picture_thumbnail(picture: PIL.Image.Image) -> bytes:
    """Shrinks one opened picture in the same way."""
    if picture.mode.startswith("I"):
        # Pillow cuts 16 bits off at 255 instead of scaling them.
        picture = picture.convert("I").point(lambda value: value / 256)
    grey = picture.convert("L")
    return grey.resize((SIZE_PX, SIZE_PX), PIL.Image.Resampling.BOX).tobytes()


@functools.cache
def _area_matrix(size_px: int) -> np.ndarray:
    """Weights (16, size_px) with which each of 16 equal areas averages the pixels it covers."""
    edges = np.linspace(0, size_px, SIZE_PX + 1)
    pixels = np.arange(size_px)
    ends = np.minimum(edges[1:, None], pixels + 1)
    starts = np.maximum(edges[:-1, None], pixels)
    overlaps = np.clip(ends - starts, 0, None)
    return (overlaps / overlaps.sum(1, keepdims=True)).astype(np.float32)
