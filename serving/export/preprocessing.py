"""Decoding of images: the one piece of code that training, evaluation and serving share.

Legend: B batch, H height, W width, C channels.
"""

from collections.abc import Callable

import tensorflow as tf

# A PNG file starts with 8 signature bytes, then the IHDR chunk: 4 bytes of length, 4 of type, 4 of
# width, 4 of height.
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_HEADER_BYTES = 24


def decode_images(
    encoded_B: tf.Tensor, *, height_px: int, width_px: int, channels: int
) -> tf.Tensor:
    """Decodes PNG, JPEG, BMP or GIF files (of which the first frame) to pixels.

    An image of another size is stretched to `height_px` x `width_px` (bilinear, antialiased,
    rounded); one of the right size keeps its exact pixels. Colour is reduced to grey, or grey
    repeated, to give `channels`. A batch of PNG files that all have the right size takes a path
    five times as fast.

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
    image_HWC = tf.io.decode_image(encoded, channels=channels, expand_animations=False)
    # `decode_image` leaves the rank unknown, which `resize` refuses.
    image_HWC = tf.ensure_shape(image_HWC, (None, None, channels))
    resized_HWC = tf.image.resize(image_HWC, (height_px, width_px), antialias=True)
    return tf.cast(tf.round(resized_HWC), tf.uint8)


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
