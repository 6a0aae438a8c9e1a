"""ResNet-18 to -152 (He et al. 2015, https://arxiv.org/abs/1512.03385).

Axes: B batch, H height, W width, C channels, F features.
"""

import keras

from models import config
from models.blocks import heads, image_io, residual

# Depth -> (block, blocks in each of the four stages): table 1 of the paper.
_STAGES = {
    18: (residual.basic_block, (2, 2, 2, 2)),
    34: (residual.basic_block, (3, 4, 6, 3)),
    50: (residual.bottleneck_block, (3, 4, 6, 3)),
    101: (residual.bottleneck_block, (3, 4, 23, 3)),
    152: (residual.bottleneck_block, (3, 8, 36, 3)),
}


def build(
    resnet: config.ResNetConfig, *, image_shape: tuple[int, int, int], head: heads.Head
) -> keras.Model:
    """Builds a ResNet; choose it when data and accelerator are large enough for it.

    Args:
        resnet: The architecture's settings. The `imagenet` stem divides the size by 4, for images
            of about 128 px and more; `small_image` keeps it, for images of about 64 px and less.
        image_shape: (height, width, channels) of the pixels.
        head: What the model ends with.

    Returns:
        A model from `image` (pixels in [0, 255], (B, H, W, C)) to what the head gives.

    >>> resnet = config.ResNetConfig(architecture="resnet", depth=18)
    >>> head = heads.Classes(num_classes=10)
    >>> build(resnet, image_shape=(32, 32, 3), head=head).output["logits"].shape
    (None, 10)
    """
    block, blocks_in_stages = _STAGES[resnet.depth]
    pixels_BHWC, x_BHWC = image_io.pixels_input(image_shape)
    if resnet.stem == "imagenet":
        x_BHWC = residual.conv_norm_act(x_BHWC, 64, kernel_px=7, strides=2, name="stem")
        x_BHWC = keras.layers.MaxPooling2D(3, strides=2, padding="same", name="stem_pool")(x_BHWC)
    else:
        x_BHWC = residual.conv_norm_act(x_BHWC, 64, kernel_px=3, name="stem")
    for stage, num_blocks in enumerate(blocks_in_stages):
        for index in range(num_blocks):
            strides = 2 if stage > 0 and index == 0 else 1
            x_BHWC = block(
                x_BHWC, 64 * 2**stage, strides=strides, name=f"stage{stage + 1}_block{index + 1}"
            )
    features_BF = keras.layers.GlobalAveragePooling2D(name="pool")(x_BHWC)
    return heads.finish(
        f"resnet{resnet.depth}",
        pixels_BHWC,
        features_BF,
        head=head,
        dropout_rate=resnet.dropout_rate,
    )
