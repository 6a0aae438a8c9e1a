"""Rows whose images are already encoded: the checks they share."""

from components.ingest import image_header
from components.ingest.config import ImageFeature
from components.ingest.errors import RowError


def check_image(image: bytes, feature: ImageFeature) -> None:
    """Checks from its header that an image is one that training and serving can decode.

    Raises:
        RowError: If it is not, or if its size differs from the recipe's and may not.
    """
    header = image_header.read_header(image)
    if header.format == "JPEG" and header.channels == 4:
        raise RowError("it is a CMYK JPEG, which TensorFlow does not decode: convert it to RGB")
    size = (header.height_px, header.width_px)
    if not feature.resize and size != (feature.height_px, feature.width_px):
        raise RowError(
            f"it has {size[0]} x {size[1]} px instead of {feature.height_px} x {feature.width_px}: "
            "correct data.image, or set data.image.resize = true"
        )
