"""The signatures of models that read images.

Legend: B batch, H height, W width, C channels.
"""

import keras
import tensorflow as tf

from serving.export import entries, preprocessing


def images_of(model: keras.Model) -> entries.ServedInput:
    """Serves a model of images, whose size and dtype it says itself.

    Args:
        model: Functional model with one input, images of a fixed size.

    Raises:
        ValueError: If the model reads anything else.
    """
    return served_images(_image_shape(model), dtype=model.inputs[0].dtype)


def served_images(shape_HWC: tuple[int, int, int], *, dtype: str) -> entries.ServedInput:
    """Serves images in three ways.

    - `serving_default`: `image`, pixels (B, H, W, C) in [0, 255], of the model's own input dtype;
    - `serve_bytes`: `image_bytes`, string (B,), whole files, see `image_files.FORMATS`;
    - `serve_examples`: `examples`, string (B,), serialized tf.Examples with a bytes feature
      `image`.

    Args:
        shape_HWC: Size of the images.
        dtype: Of the pixels that the model takes.
    """

    def decode(encoded_B: tf.Tensor) -> tf.Tensor:
        height_px, width_px, channels = shape_HWC
        images_BHWC = preprocessing.decode_images(
            encoded_B, height_px=height_px, width_px=width_px, channels=channels
        )
        return tf.cast(images_BHWC, dtype)

    return entries.served_files(
        tensor=tf.TensorSpec((None, *shape_HWC), dtype, name="image"),
        decode=decode,
        facts={"image_shape": list(shape_HWC)},
        example_help="whose bytes feature 'image' is an image file",
    )


def _image_shape(model: keras.Model) -> tuple[int, int, int]:
    input_shapes = [tensor.shape for tensor in model.inputs]
    is_image = (
        len(input_shapes) == 1 and len(input_shapes[0]) == 4 and None not in input_shapes[0][1:]
    )
    if not is_image:
        raise ValueError(
            "The model must map one image input of a fixed size to {'logits': (B, K)}. "
            f"Received: inputs of shape {input_shapes}."
        )
    return input_shapes[0][1:]
