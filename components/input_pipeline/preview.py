"""A picture sheet of what augmentation does to examples, to look at before training.

Legend: B batch, H height, W width, C channels.
"""

import json
from typing import Any

import numpy as np
import PIL.Image
import PIL.ImageDraw
import tensorflow as tf

from components.input_pipeline.augmentation import images as image_augmentation
from components.input_pipeline.config import AugmentConfig

_TILE_PX = 96
_GAP_PX = 4
_TITLE_PX = 16


def settings_in_use(config: AugmentConfig) -> dict[str, AugmentConfig]:
    """Returns a config for each setting that is on, with that one alone, by a title.

    >>> list(settings_in_use(AugmentConfig(horizontal_flip=True, brightness=0.1)))
    ['horizontal_flip = true', 'brightness = 0.1']
    """
    default = AugmentConfig().to_dict()
    changed = {
        name: value for name, value in config.to_dict().items() if value != default.get(name)
    }
    return {
        f"{name} = {_toml(value)}": AugmentConfig.from_dict({name: value})
        for name, value in changed.items()
    }


def draw_sheet(images_BHWC: np.ndarray, config: AugmentConfig, *, seed: int) -> PIL.Image.Image:
    """Draws a row of examples as they are, one for each setting alone, and one for all together.

    Args:
        images_BHWC: uint8 examples, one for each column.
        config: The recipe's `[input.augment]`.
        seed: The recipe's seed.

    Returns:
        An RGB picture; without any setting it holds the examples alone.
    """
    rows = {"as they are": images_BHWC}
    settings = settings_in_use(config)
    if len(settings) > 1:
        settings["all together"] = config
    for title, alone in settings.items():
        seed_2 = tf.constant([seed, 0], tf.int64)
        changed = image_augmentation.augment_images(tf.constant(images_BHWC), alone, seed_2=seed_2)
        rows[title] = changed.numpy()
    width_px = _GAP_PX + len(images_BHWC) * (_TILE_PX + _GAP_PX)
    row_px = _TITLE_PX + _TILE_PX + _GAP_PX
    sheet = PIL.Image.new("RGB", (width_px, len(rows) * row_px), "white")
    draw = PIL.ImageDraw.Draw(sheet)
    for number, (title, images) in enumerate(rows.items()):
        draw.text((_GAP_PX, number * row_px + 2), title, fill="black")
        for column, image in enumerate(images):
            place = (_GAP_PX + column * (_TILE_PX + _GAP_PX), number * row_px + _TITLE_PX)
            sheet.paste(_tile(image), place)
    return sheet


def _toml(value: Any) -> str:
    """Writes a setting's value as a recipe does, as far as the settings here need it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items()) + "}"
    return json.dumps(value)


def _tile(image_HWC: np.ndarray) -> PIL.Image.Image:
    picture = PIL.Image.fromarray(image_HWC[..., 0] if image_HWC.shape[2] == 1 else image_HWC)
    return picture.resize((_TILE_PX, _TILE_PX), PIL.Image.Resampling.NEAREST)
