"""Decoding of images: the one piece of code that training, evaluation and serving share.

Legend: B batch, H height, W width, C channels.
"""

from collections.abc import Callable

import tensorflow as tf

# A PNG file starts with 8 signature bytes, then the IHDR chunk: 4 bytes of length, 4 of type, 4 of
# width, 4 of height.
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_HEADER_BYTES = 24
_JPEG_SIGNATURE, _BMP_SIGNATURE = b"\xff\xd8\xff", b"BM"
_BMP_HEADER_BYTES = 54
_CMYK_CHANNELS = 4


def decode_images(
    encoded_B: tf.Tensor, *, height_px: int, width_px: int, channels: int
) -> tf.Tensor:
    """Decodes files of the formats in `image_files` to pixels; of an animation, the first frame.

    An image of another size is stretched to `height_px` x `width_px` (bilinear, antialiased,
    rounded); one of the right size keeps its exact pixels. Colour is reduced to grey, or grey
    repeated, to give `channels`; transparency is dropped. A batch of PNG files that all have the
    right size takes a path five times as fast.

    Args:
        encoded_B: String tensor of whole image files, shape (B,); B may be 0 or unknown.
        height_px: Height of the result, > 0.
        width_px: Width of the result, > 0.
        channels: 1 (grey) or 3 (RGB).

    Returns:
        uint8 tensor of shape (B, height_px, width_px, channels), values in [0, 255].

    Raises:
        ValueError: If a size is not positive or `channels` is neither 1 nor 3.
        tf.errors.InvalidArgumentError: When run, if an element is not an image.

    >>> white = tf.io.encode_png(tf.fill((2, 3, 1), tf.constant(255, tf.uint8)))
    >>> decode_images(white[None], height_px=2, width_px=3, channels=1).shape
    TensorShape([1, 2, 3, 1])
    """
    if height_px <= 0 or width_px <= 0 or channels not in (1, 3):
        raise ValueError(
            "The image must have a positive size and 1 or 3 channels. "
            f"Received: height_px={height_px}, width_px={width_px}, channels={channels}."
        )
    shape_HWC = (height_px, width_px, channels)

    def decode_png(encoded: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(tf.io.decode_png(encoded, channels=channels), shape_HWC)

    def decode_any(encoded: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(_decode_and_resize(encoded, shape_HWC), shape_HWC)

    return tf.cond(
        _all_png_of_size(encoded_B, height_px, width_px),
        lambda: _map_images(decode_png, encoded_B, shape_HWC),
        lambda: _map_images(decode_any, encoded_B, shape_HWC),
    )


def _map_images(
    decode: Callable[[tf.Tensor], tf.Tensor], encoded_B: tf.Tensor, shape_HWC: tuple[int, int, int]
) -> tf.Tensor:
    spec = tf.TensorSpec(shape_HWC, tf.uint8)
    return tf.map_fn(decode, encoded_B, fn_output_signature=spec, parallel_iterations=16)


def _decode_and_resize(encoded: tf.Tensor, shape_HWC: tuple[int, int, int]) -> tf.Tensor:
    height_px, width_px, channels = shape_HWC
    image_HWC = _decode_grey(encoded) if channels == 1 else _decode_colour(encoded)
    resized_HWC = tf.image.resize(image_HWC, (height_px, width_px), antialias=True)
    return tf.cast(tf.round(resized_HWC), tf.uint8)


def _decode_colour(encoded: tf.Tensor) -> tf.Tensor:
    image_HWC = tf.cond(
        _has_palette(encoded),
        lambda: _decode_palette(encoded),
        lambda: tf.io.decode_image(encoded, channels=3, expand_animations=False),
    )
    # `decode_image` leaves the rank unknown, which `resize` refuses.
    return tf.ensure_shape(image_HWC, (None, None, 3))


def _decode_grey(encoded: tf.Tensor) -> tf.Tensor:
    """Lets the decoder reduce colour where it can, which PNG's and most of JPEG's can."""
    image_HWC = tf.cond(
        _decodes_to_grey(encoded),
        lambda: tf.io.decode_image(encoded, channels=1, expand_animations=False),
        lambda: tf.image.rgb_to_grayscale(_decode_colour(encoded)),
    )
    return tf.ensure_shape(image_HWC, (None, None, 1))


def _decodes_to_grey(encoded: tf.Tensor) -> tf.Tensor:
    is_png = tf.strings.substr(encoded, 0, len(_PNG_SIGNATURE)) == _PNG_SIGNATURE
    is_jpeg = tf.strings.substr(encoded, 0, len(_JPEG_SIGNATURE)) == _JPEG_SIGNATURE
    return is_png | tf.cond(
        is_jpeg,
        lambda: tf.io.extract_jpeg_shape(encoded)[2] != _CMYK_CHANNELS,
        lambda: tf.constant(False),
    )


def _has_palette(encoded: tf.Tensor) -> tf.Tensor:
    """True for BMP files whose pixels are indices of 8 bits, which TensorFlow takes for grey."""
    is_bmp = tf.strings.substr(encoded, 0, len(_BMP_SIGNATURE)) == _BMP_SIGNATURE
    header = tf.strings.substr(tf.strings.join([encoded, b"\0" * _BMP_HEADER_BYTES]), 28, 2)
    return is_bmp & (header == b"\x08\0")


def _decode_palette(encoded: tf.Tensor) -> tf.Tensor:
    """Looks the colours of a BMP file up: entries of 4 bytes, blue first, after its headers."""
    pixels_at, header_bytes = [
        tf.io.decode_raw(tf.strings.substr(encoded, position, 4), tf.int32)[0]
        for position in (10, 14)
    ]
    start = 14 + header_bytes
    palette = tf.strings.substr(encoded, start, pixels_at - start)
    colours_N4 = tf.reshape(tf.io.decode_raw(palette, tf.uint8), (-1, 4))
    indices_HWC = tf.io.decode_bmp(encoded)
    colours_HW4 = tf.gather(colours_N4, tf.cast(indices_HWC[..., 0], tf.int32))
    return tf.reverse(colours_HW4[..., :3], axis=[-1])


def _all_png_of_size(encoded_B: tf.Tensor, height_px: int, width_px: int) -> tf.Tensor:
    """Tells from the file headers alone, in a few operations over the whole batch."""
    expected = (
        _PNG_SIGNATURE
        + (13).to_bytes(4, "big")
        + b"IHDR"
        + width_px.to_bytes(4, "big")
        + height_px.to_bytes(4, "big")
    )
    # A file shorter than a header is padded with zeros, so that it compares as different.
    padded_B = tf.strings.substr(
        tf.strings.join([encoded_B, tf.constant(b"\0" * _PNG_HEADER_BYTES)]), 0, _PNG_HEADER_BYTES
    )
    return tf.reduce_all(tf.equal(padded_B, tf.constant(expected)))
