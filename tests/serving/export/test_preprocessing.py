import io

import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

from serving.export import preprocessing


def encode(pixels: np.ndarray, kind: str = "PNG", **options) -> bytes:
    stream = io.BytesIO()
    PIL.Image.fromarray(pixels).save(stream, kind, **options)
    return stream.getvalue()


def random_pixels(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def decode(*encoded: bytes, height_px: int = 6, width_px: int = 4, channels: int = 1) -> np.ndarray:
    batch = tf.constant(list(encoded), tf.string)
    sizes = {"height_px": height_px, "width_px": width_px, "channels": channels}
    return preprocessing.decode_images(batch, **sizes).numpy()


def test_png_of_the_right_size_keeps_its_pixels():
    first, second = random_pixels(6, 4), random_pixels(6, 4, seed=1)
    np.testing.assert_array_equal(
        decode(encode(first), encode(second)), np.stack([first, second])[..., None]
    )


def test_colour_png_keeps_its_pixels():
    pixels = random_pixels(6, 4, 3)
    np.testing.assert_array_equal(decode(encode(pixels), channels=3), pixels[None])


def test_an_odd_one_in_the_batch_does_not_change_the_others():
    pixels = random_pixels(6, 4)
    mixed = decode(encode(pixels), encode(random_pixels(9, 9)))
    np.testing.assert_array_equal(mixed[0, ..., 0], pixels)


def test_jpeg_decodes_as_tensorflow_decodes_it():
    encoded = encode(random_pixels(6, 4, 3), "JPEG", quality=95)
    np.testing.assert_array_equal(
        decode(encoded, channels=3)[0], tf.io.decode_jpeg(encoded, channels=3).numpy()
    )


def test_larger_image_is_averaged_down():
    halves = np.repeat(np.repeat(np.array([[0, 100], [200, 40]], np.uint8), 30, 0), 20, 1)
    shrunk = decode(encode(halves))[0, ..., 0]
    np.testing.assert_array_equal(shrunk[[0, 0, -1, -1], [0, -1, 0, -1]], [0, 100, 200, 40])


def test_transposed_size_is_resized_not_taken_as_equal():
    flat = np.full((4, 6), 77, np.uint8)
    np.testing.assert_array_equal(decode(encode(flat)), np.full((1, 6, 4, 1), 77))


def test_sixteen_bit_png_is_scaled_to_eight_bits():
    pixels = np.full((6, 4), 0x7FFF, np.uint16)
    np.testing.assert_array_equal(decode(encode(pixels))[0, ..., 0], np.full((6, 4), 0x7F))


# What Pillow can write: a file's format and the modes that it has.
_MODES = {
    "PNG": ("L", "RGB", "RGBA", "P"),
    "JPEG": ("L", "RGB", "CMYK"),
    "GIF": ("L", "RGB", "P"),
    "BMP": ("L", "RGB", "RGBA", "P"),
    "WEBP": ("L", "RGB", "RGBA", "P"),
}


@pytest.mark.parametrize(
    ("kind", "mode"), [(kind, mode) for kind, modes in _MODES.items() for mode in modes]
)
@pytest.mark.parametrize("channels", [1, 3])
def test_every_format_decodes_as_pillow_decodes_it(kind, mode, channels):
    slope = np.linspace(20, 230, 6 * 4 * 3).astype(np.uint8).reshape(6, 4, 3)
    stream = io.BytesIO()
    PIL.Image.fromarray(slope).convert(mode).save(stream, kind)
    expected = np.array(PIL.Image.open(stream).convert("L" if channels == 1 else "RGB"), int)
    decoded = decode(stream.getvalue(), channels=channels)[0].astype(int)
    assert np.abs(decoded - expected.reshape(6, 4, channels)).max() <= 3


@pytest.mark.parametrize("channels", [1, 3])
def test_the_first_frame_of_an_animation_counts(channels):
    frames = [PIL.Image.new("P", (4, 6), color) for color in (0, 1)]
    for frame in frames:
        frame.putpalette([50, 50, 50, 200, 200, 200])
    stream = io.BytesIO()
    frames[0].save(stream, "GIF", save_all=True, append_images=frames[1:])
    np.testing.assert_array_equal(
        decode(stream.getvalue(), channels=channels), np.full((1, 6, 4, channels), 50)
    )


def test_empty_batch_gives_no_images():
    assert decode().shape == (0, 6, 4, 1)


@pytest.mark.parametrize(
    "garbage", [b"", b"not an image", b"\x89PNG\r\n\x1a\n", encode(random_pixels(6, 4))[:40]]
)
def test_bytes_that_are_no_image_are_refused(garbage):
    with pytest.raises(tf.errors.InvalidArgumentError):
        decode(garbage)


@pytest.mark.parametrize(
    "bad",
    [{"height_px": 0}, {"width_px": -1}, {"channels": 4}],
    ids=["height", "width", "channels"],
)
def test_impossible_sizes_are_refused(bad):
    with pytest.raises(ValueError, match="positive size and 1 or 3 channels. Received: height_px="):
        decode(**bad)


def test_one_image_in_a_graph_equals_eager():
    encoded = encode(random_pixels(6, 4))
    in_graph = tf.function(
        lambda batch: preprocessing.decode_images(batch, height_px=6, width_px=4, channels=1),
        input_signature=[tf.TensorSpec((None,), tf.string)],
    )
    np.testing.assert_array_equal(in_graph(tf.constant([encoded])).numpy(), decode(encoded))
