"""Random changes to a whole batch of images at once, each drawn from the seed and the global step.

Legend: B batch, H height, W width, C channels.
"""

import tensorflow as tf

from components.input_pipeline.augmentation import colour, erasing, geometry
from components.input_pipeline.config import AugmentConfig


def augment_images(
    images_BHWC: tf.Tensor, config: AugmentConfig, *, seed_2: tf.Tensor
) -> tf.Tensor:
    """Changes each image of a batch by draws of its own: place, then colour, then erasing.

    Args:
        images_BHWC: uint8 images.
        config: What to do; without anything to do the images come back unchanged.
        seed_2: int64 tensor of shape (2,), such as (seed, global step): equal seeds, equal draws.

    Returns:
        uint8 images of the same shape.
    """
    shape = images_BHWC.shape
    # A stream of draws for each, so that turning one on leaves the others' draws as they are.
    place_seed_2, colour_seed_2, erasing_seed_2 = (
        tf.random.fold_in(seed_2, stream) for stream in range(3)
    )
    if config.max_rotation_degrees or config.min_crop_area < 1.0:
        images_BHWC = geometry.transform(images_BHWC, config, seed_2=place_seed_2)
    elif config.horizontal_flip or config.vertical_flip or config.max_translation_px:
        images_BHWC = geometry.move(images_BHWC, config, seed_2=place_seed_2)
    if config.brightness or config.contrast or config.saturation:
        images_BHWC = colour.jitter(images_BHWC, config, seed_2=colour_seed_2)
    if config.erasing_probability:
        images_BHWC = erasing.erase(
            images_BHWC, probability=config.erasing_probability, seed_2=erasing_seed_2
        )
    return tf.ensure_shape(images_BHWC, shape)
