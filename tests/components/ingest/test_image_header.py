import io

import PIL.Image
import pytest

from components.ingest import image_header
from components.ingest.errors import RowError


def encode(mode: str, image_format: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.new(mode, (5, 3)).save(buffer, image_format, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("mode", "image_format", "channels"),
    [
        ("L", "PNG", 1),
        ("RGB", "PNG", 3),
        ("RGBA", "PNG", 4),
        ("LA", "PNG", 2),
        ("P", "PNG", 3),
        ("I;16", "PNG", 1),
        ("L", "JPEG", 1),
        ("RGB", "JPEG", 3),
        ("CMYK", "JPEG", 4),
    ],
)
def test_header_says_what_pillow_wrote(mode, image_format, channels):
    header = image_header.read_header(encode(mode, image_format))
    assert header == image_header.ImageHeader(image_format, 3, 5, channels)


def test_jpeg_size_is_found_behind_a_long_comment_and_exif():
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    image = encode("RGB", "JPEG", comment=b"\xff\xc0" * 1000, exif=exif, progressive=True)
    assert image_header.read_header(image)[1:3] == (3, 5)


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (b"", "the file is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0", "ends within its header"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "ends within its header"),
        (b"\xff\xd8\x00\x00\x00", "the JPEG image is damaged"),
        (b"hello, world", "it begins with b'hell', so it is neither a PNG nor a JPEG image"),
    ],
)
def test_what_cannot_be_read_is_explained(image, reason):
    with pytest.raises(RowError, match=reason):
        image_header.read_header(image)
