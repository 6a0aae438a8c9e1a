"""Random changes to a whole batch of images at once, each drawn from the seed and the global step.

Legend: B batch, H height, W width, C channels, N boxes of an image.
"""

from typing import NamedTuple

import tensorflow as tf

from components.input_pipeline.augmentation import colour, erasing, geometry, policies, targets
from components.input_pipeline.config import AugmentConfig


class Annotated(NamedTuple):
    """Images with what belongs to places in them.

    Attributes:
        images_BHWC: uint8 images.
        masks_BHWC: uint8 or int32 masks of the same height and width, or None.
        boxes_BN4: float32 (x0, y0, x1, y1) in pixels, or None; empty ones fill up a row.
    """

    images_BHWC: tf.Tensor
    masks_BHWC: tf.Tensor | None = None
    boxes_BN4: tf.Tensor | None = None


def augment_images(
    images_BHWC: tf.Tensor, config: AugmentConfig, *, seed_2: tf.Tensor
) -> tf.Tensor:
    """Changes each image of a batch by draws of its own: place, policy, colour, then erasing.

    Args:
        images_BHWC: uint8 images.
        config: What to do; without anything to do the images come back unchanged.
        seed_2: int64 tensor of shape (2,), such as (seed, global step): equal seeds, equal draws.

    Returns:
        uint8 images of the same shape.
    """
    return augment_annotated(Annotated(images_BHWC), config, seed_2=seed_2).images_BHWC


def augment_annotated(
    annotated: Annotated, config: AugmentConfig, *, seed_2: tf.Tensor
) -> Annotated:
    """Changes images, and moves their masks and boxes with them by the same draws.

    Masks are given the nearest pixel's value, and boxes are cut off at the edge of the image; a box
    of which nothing is left becomes (0, 0, 0, 0). The images are those of `augment_images`.

    Args:
        annotated: Images, masks and boxes.
        config: What to do.
        seed_2: int64 tensor of shape (2,), such as (seed, global step).
    """
    images_BHWC = annotated.images_BHWC
    shape = images_BHWC.shape
    # A stream of draws for each, so that turning one on leaves the others' draws as they are.
    place_seed_2, colour_seed_2, erasing_seed_2, policy_seed_2 = (
        tf.random.fold_in(seed_2, stream) for stream in range(4)
    )
    maps = []
    if config.moves_pixels:
        maps.append(geometry.draw_transforms(tf.shape(images_BHWC), config, seed_2=place_seed_2))
        images_BHWC = geometry.apply(images_BHWC, maps[0], config)
    if config.has_policy:
        images_BHWC = _to_uint8(images_BHWC)
        plan = policies.draw_plan(tf.shape(images_BHWC)[0], config, seed_2=policy_seed_2)
        images_BHWC = policies.apply(images_BHWC, plan)
        maps += policies.transforms(plan, height_px=shape[1], width_px=shape[2])
    if config.brightness or config.contrast or config.saturation:
        images_BHWC = colour.jitter(images_BHWC, config, seed_2=colour_seed_2)
    images_BHWC = _to_uint8(images_BHWC)
    if config.erasing_probability:
        images_BHWC = erasing.erase(
            images_BHWC, probability=config.erasing_probability, seed_2=erasing_seed_2
        )
    return _move_targets(annotated, maps)._replace(images_BHWC=tf.ensure_shape(images_BHWC, shape))


def _move_targets(annotated: Annotated, maps: list[tf.Tensor]) -> Annotated:
    _, masks_BHWC, boxes_BN4 = annotated
    height_px, width_px = annotated.images_BHWC.shape[1:3]
    for transforms_B8 in maps:
        if masks_BHWC is not None:
            masks_BHWC = targets.warp_masks(masks_BHWC, transforms_B8)
        if boxes_BN4 is not None:
            boxes_BN4, _ = targets.warp_boxes(
                boxes_BN4, transforms_B8, height_px=height_px, width_px=width_px
            )
    return annotated._replace(masks_BHWC=masks_BHWC, boxes_BN4=boxes_BN4)


def _to_uint8(images_BHWC: tf.Tensor) -> tf.Tensor:
    if images_BHWC.dtype == tf.uint8:
        return images_BHWC
    return tf.cast(tf.clip_by_value(tf.round(images_BHWC), 0.0, 255.0), tf.uint8)
