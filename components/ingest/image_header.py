"""Format and size of an image file from its first bytes, without decoding it."""

import struct
from typing import NamedTuple

from components.ingest.errors import RowError

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
# Start-of-frame markers; 0xC4, 0xC8 and 0xCC in this range mean something else.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})

_OTHER_SIGNATURES = (b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"RIFF")
# How much of a file `is_image` looks at.
MAGIC_BYTES = 8


class ImageHeader(NamedTuple):
    """What an image file says of itself; `channels` counts alpha, and a palette as 3."""

    format: str
    height_px: int
    width_px: int
    channels: int


def is_image(start: bytes) -> bool:
    """Says whether a file that begins like this seems to be an image."""
    return start.startswith((_PNG_SIGNATURE, *_OTHER_SIGNATURES))


def read_header(image: bytes) -> ImageHeader:
    """Reads the header of a PNG or JPEG file, the formats that examples are kept in.

    Raises:
        RowError: If it is empty, ends within its header, or has another format.

    >>> import numpy as np
    >>> from components.ingest import png
    >>> read_header(next(png.encode_png(np.zeros((1, 2, 4, 3), np.uint8))))
    ImageHeader(format='PNG', height_px=2, width_px=4, channels=3)
    """
    if not image:
        raise RowError("the file is empty")
    try:
        if image.startswith(_PNG_SIGNATURE):
            width_px, height_px, _, colour = struct.unpack_from(">IIBB", image, 16)
            return ImageHeader("PNG", height_px, width_px, _PNG_CHANNELS[colour])
        if image.startswith(b"\xff\xd8"):
            return _read_jpeg(image)
    except (struct.error, IndexError, KeyError) as error:
        raise RowError("the image ends within its header") from error
    raise RowError(f"it begins with {image[:4]!r}, so it is neither a PNG nor a JPEG image")


def _read_jpeg(image: bytes) -> ImageHeader:
    position = 2
    while True:
        if image[position] != 0xFF:
            raise RowError("the JPEG image is damaged")
        marker = image[position + 1]
        if marker in _JPEG_FRAMES:
            height_px, width_px, channels = struct.unpack_from(">HHB", image, position + 5)
            return ImageHeader("JPEG", height_px, width_px, channels)
        if marker == 0xFF:
            position += 1
        elif marker in _JPEG_STANDALONE:
            position += 2
        else:
            position += 2 + struct.unpack_from(">H", image, position + 2)[0]
