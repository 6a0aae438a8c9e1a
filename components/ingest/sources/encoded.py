"""Rows whose images are already encoded."""

import contextlib
import io
from collections.abc import Iterator

import PIL.Image
import PIL.ImageOps

from components.ingest import fingerprint_images, image_header
from components.ingest.config import DataConfig
from components.ingest.errors import RowError
from components.ingest.features import recordings
from components.ingest.features.config import ImageFeature

_EXIF_ORIENTATION = 0x0112
_UPRIGHT = 1


def check_image(image: bytes, feature: ImageFeature) -> bytes:
    """Checks an image of a prepared dataset and returns its look.

    Raises:
        RowError: If it is not a PNG or JPEG file, is damaged, or its size differs and may not.
    """
    header = image_header.read_header(image)
    if header.format == "JPEG" and header.channels == 4 and feature.channels == 1:
        raise RowError("it is a CMYK JPEG, which TensorFlow does not decode to grey")
    _check_size(header.height_px, header.width_px, feature)
    with _damage_named(), PIL.Image.open(io.BytesIO(image)) as picture:
        # A JPEG decoder can shrink as it decodes, in a fraction of the time.
        picture.draft("RGB", (2 * fingerprint_images.GREY_PX, 2 * fingerprint_images.GREY_PX))
        return fingerprint_images.picture_look(picture)


def normalise(content: bytes, data: DataConfig) -> tuple[bytes, bytes]:
    """Checks a file of the kind that is a recipe's input; returns it as it is kept, and its look.

    Raises:
        RowError: If it cannot be used.
    """
    if data.audio:
        return recordings.normalise_recording(content, data.audio), b""
    return normalise_image(content, data.image_feature())


def normalise_image(image: bytes, feature: ImageFeature) -> tuple[bytes, bytes]:
    """Checks a file that a user gave by decoding it, and makes it one that training can decode.

    Returns the file and its look.

    Upright PNG and JPEG files are kept byte for byte, so that training and serving see the same.
    Others that Pillow reads (GIF of which the first frame, BMP, TIFF, WebP, CMYK), and photographs
    that only their EXIF data turns upright, become PNG files.

    Raises:
        RowError: If it is empty, damaged, truncated or not an image, or its size may not differ.
    """
    if not image:
        raise RowError("the file is empty")
    with _damage_named(), PIL.Image.open(io.BytesIO(image)) as picture:
        picture.load()
        is_upright = picture.getexif().get(_EXIF_ORIENTATION, _UPRIGHT) == _UPRIGHT
        upright = picture if is_upright else PIL.ImageOps.exif_transpose(picture)
        _check_size(upright.height, upright.width, feature)
        if not is_upright or picture.format not in ("PNG", "JPEG") or picture.mode == "CMYK":
            image = _encode(upright, feature)
        return image, fingerprint_images.picture_look(upright)


@contextlib.contextmanager
def _damage_named() -> Iterator[None]:
    try:
        yield
    except PIL.UnidentifiedImageError as error:
        raise RowError("it is not an image that Pillow can read") from error
    except RowError:
        raise
    # Pillow's decoders raise several kinds of errors for damaged files.
    except (OSError, SyntaxError, ValueError, EOFError, PIL.Image.DecompressionBombError) as error:
        raise RowError(f"the image is damaged ({error})") from error


def _encode(picture: PIL.Image.Image, feature: ImageFeature) -> bytes:
    buffer = io.BytesIO()
    picture.convert("L" if feature.channels == 1 else "RGB").save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _check_size(height_px: int, width_px: int, feature: ImageFeature) -> None:
    if not feature.resize and (height_px, width_px) != (feature.height_px, feature.width_px):
        raise RowError(
            f"it has {height_px} x {width_px} px instead of {feature.height_px} x "
            f"{feature.width_px}: correct data.image, or set data.image.resize = true"
        )
