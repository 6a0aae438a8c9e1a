"""Format and size of an image file from its first bytes, without decoding it."""

import struct
from typing import NamedTuple

from components.ingest.errors import RowError

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
# Start-of-frame markers; 0xC4, 0xC8 and 0xCC in this range mean something else.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_OTHERS = {b"II*\0": "TIFF", b"MM\0*": "TIFF", b"<svg": "SVG", b"%PDF": "PDF"}


class ImageHeader(NamedTuple):
    """What an image file says of itself; `channels` counts alpha, and a palette as 3."""

    format: str
    height_px: int
    width_px: int
    channels: int


def read_header(image: bytes) -> ImageHeader:
    """Reads the header of a PNG, JPEG, GIF or BMP file: what the served model can decode as well.

    Raises:
        RowError: If it is empty, ends within its header, or has another format.

    >>> read_header(b"GIF89a" + bytes([4, 0, 2, 0, 0, 0, 0]))
    ImageHeader(format='GIF', height_px=2, width_px=4, channels=3)
    """
    if not image:
        raise RowError("the file is empty")
    try:
        if image.startswith(_PNG_SIGNATURE):
            width_px, height_px, _, colour = struct.unpack_from(">IIBB", image, 16)
            return ImageHeader("PNG", height_px, width_px, _PNG_CHANNELS[colour])
        if image.startswith(b"\xff\xd8"):
            return _read_jpeg(image)
        if image[:6] in (b"GIF87a", b"GIF89a"):
            width_px, height_px = struct.unpack_from("<HH", image, 6)
            return ImageHeader("GIF", height_px, width_px, 3)
        if image.startswith(b"BM"):
            width_px, height_px, _, bits = struct.unpack_from("<iiHH", image, 18)
            return ImageHeader("BMP", abs(height_px), width_px, max(1, bits // 8))
    except (struct.error, IndexError, KeyError) as error:
        raise RowError("the image ends within its header") from error
    raise RowError(f"it is {_guess(image)}, not a PNG, JPEG, GIF or BMP image: convert it to PNG")


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


def _guess(image: bytes) -> str:
    if image[:4] == b"RIFF" and image[8:12] == b"WEBP":
        return "WEBP"
    return _OTHERS.get(image[:4], f"a file that begins with {image[:4]!r}")
