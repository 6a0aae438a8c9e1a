"""Brightness, contrast and saturation of a batch of images.

Legend: B batch, H height, W width, C channels.
"""

import tensorflow as tf

from components.input_pipeline.config import AugmentConfig


def jitter(images_BHWC: tf.Tensor, config: AugmentConfig, *, seed_2: tf.Tensor) -> tf.Tensor:
    """Changes saturation, then contrast, then brightness of each image.

    Saturation scales each pixel's distance from its own grey, contrast each pixel's distance from
    the image's mean, by a factor in [1 - c, 1 + c]; brightness adds up to 255 * b either way.

    Args:
        images_BHWC: Images in [0, 255]; saturation leaves grey ones, C = 1, as they are.
        config: Its `brightness`, `contrast` and `saturation` are used.
        seed_2: int64 tensor of shape (2,).

    Returns:
        float32 images of the same shape, not cut off at 0 and 255.
    """
    seeds = tf.unstack(tf.random.split(seed_2, 3), num=3)
    batch = tf.shape(images_BHWC)[0]

    def draw(limit: float, seed: tf.Tensor) -> tf.Tensor:
        return tf.random.stateless_uniform((batch, 1, 1, 1), seed, -limit, limit)

    images = tf.cast(images_BHWC, tf.float32)
    if config.saturation and images_BHWC.shape[3] == 3:
        grey = tf.image.rgb_to_grayscale(images)
        images = grey + (images - grey) * (1 + draw(config.saturation, seeds[0]))
    # Both in one pass over the pixels.
    mean = tf.reduce_mean(images, axis=(1, 2, 3), keepdims=True)
    factor = 1 + draw(config.contrast, seeds[1])
    return images * factor + (mean * (1 - factor) + 255.0 * draw(config.brightness, seeds[2]))
