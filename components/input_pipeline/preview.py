"""A picture sheet of what augmentation does to examples, to look at before training.

Legend: B batch, H height, W width, C channels, N samples or steps.
"""

import json
from typing import Any

import matplotlib
import numpy as np
import PIL.Image
import PIL.ImageDraw
import tensorflow as tf

from components.input_pipeline.augmentation import augmenter, mixing
from components.input_pipeline.config import InputConfig
from models import inputs

# The tables of `[input]` by the kind of input that they change.
TABLES = {
    "image": "augment",
    "text": "augment_text",
    "audio": "augment_audio",
    "series": "augment_series",
}
_TILE_PX = 96
_GAP_PX = 4
_TITLE_PX = 16
# Of a recording, a spectrogram above its curve.
_CURVE_PX = 28
_WINDOW_SAMPLES = 256
_SPAN_DB = 80.0


def settings_in_use(config: InputConfig, kind: str) -> dict[str, InputConfig]:
    """Returns a config for each setting that is on, with that one alone, by a title.

    Args:
        config: The recipe's `[input]`.
        kind: One of `TABLES`.

    >>> config = InputConfig.from_dict({"augment": {"horizontal_flip": True, "brightness": 0.1}})
    >>> list(settings_in_use(config, "image"))
    ['horizontal_flip = true', 'brightness = 0.1']
    """
    table = TABLES[kind]
    default = InputConfig().to_dict()[table]
    changed = {
        name: value for name, value in config.to_dict()[table].items() if value != default.get(name)
    }
    return {
        f"{name} = {_toml(value)}": InputConfig.from_dict({table: {name: value}})
        for name, value in changed.items()
    }


def settings_alone_and_together(config: InputConfig, kind: str) -> dict[str, InputConfig]:
    """Returns what `settings_in_use` does and, if there are several, all of them together."""
    settings = settings_in_use(config, kind)
    return {**settings, "all together": config} if len(settings) > 1 else settings


def draw_sheet(
    examples: np.ndarray,
    answers: np.ndarray,
    config: InputConfig,
    spec: inputs.InputSpec,
    *,
    seed: int,
) -> PIL.Image.Image:
    """Draws a row of examples as they are, one for each setting alone, and one for all together.

    Args:
        examples: One for each column: images uint8 (B, H, W, C); recordings float32 (B, N), of
            which the power by time and frequency is drawn above the samples; or series float32
            (B, N, C), of which the first channel is drawn.
        answers: Labels (B,), or targets.
        config: The recipe's `[input]`.
        spec: What the model reads; an image, a recording or a series.
        seed: The recipe's seed.

    Returns:
        An RGB picture; without any setting it holds the examples alone.
    """
    rows = {"as they are": examples}
    for title, alone in settings_alone_and_together(config, spec.kind).items():
        rows[title] = _changed(examples, answers, alone, spec, seed=seed)
    width_px = _GAP_PX + len(examples) * (_TILE_PX + _GAP_PX)
    row_px = _TITLE_PX + _TILE_PX + _GAP_PX
    sheet = PIL.Image.new("RGB", (width_px, len(rows) * row_px), "white")
    draw = PIL.ImageDraw.Draw(sheet)
    for number, (title, row) in enumerate(rows.items()):
        draw.text((_GAP_PX, number * row_px + 2), title, fill="black")
        for column, changed in enumerate(row):
            place = (_GAP_PX + column * (_TILE_PX + _GAP_PX), number * row_px + _TITLE_PX)
            sheet.paste(_tile(changed, examples[column]), place)
    return sheet


def _changed(
    examples: np.ndarray,
    answers: np.ndarray,
    config: InputConfig,
    spec: inputs.InputSpec,
    *,
    seed: int,
) -> np.ndarray:
    seed_2 = tf.constant([seed, 0], tf.int64)
    changed = tf.constant(examples)
    augment = augmenter.make_augmenter(config, spec)
    if augment is not None:
        changed, _ = augment(changed, tf.constant(answers), seed_2)
    if config.augment.is_mixed:
        # Which classes are mixed with which does not show.
        changed, _ = mixing.mix(
            changed, tf.zeros(len(examples), tf.int32), config.augment, num_classes=1, seed_2=seed_2
        )
    return changed.numpy()


def _toml(value: Any) -> str:
    """Writes a setting's value as a recipe does, as far as the settings here need it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items()) + "}"
    return json.dumps(value)


def _tile(example: np.ndarray, original: np.ndarray) -> PIL.Image.Image:
    if example.dtype == np.uint8:
        picture = PIL.Image.fromarray(example[..., 0] if example.shape[2] == 1 else example)
        return picture.resize((_TILE_PX, _TILE_PX), PIL.Image.Resampling.NEAREST)
    if example.ndim == 1:
        tile = PIL.Image.new("RGB", (_TILE_PX, _TILE_PX))
        tile.paste(_spectrogram(example, original, height_px=_TILE_PX - _CURVE_PX), (0, 0))
        tile.paste(_curve(example, original, height_px=_CURVE_PX), (0, _TILE_PX - _CURVE_PX))
        return tile
    return _curve(example[:, 0], original[:, 0], height_px=_TILE_PX)


def _curve(values_N: np.ndarray, original_N: np.ndarray, *, height_px: int) -> PIL.Image.Image:
    """Draws values from left to right, in front of those of the example as it was."""
    picture = PIL.Image.new("RGB", (_TILE_PX, height_px), "#eceff1")
    draw = PIL.ImageDraw.Draw(picture)
    both_2N = np.stack([original_N, values_N])
    middle = (both_2N.max() + both_2N.min()) / 2
    reach = max(np.ptp(both_2N), 1e-6) * 0.7
    across = np.linspace(0, _TILE_PX - 1, len(values_N))
    for line_N, colour in zip(both_2N, ("#b0bec5", "#1565c0"), strict=True):
        down = (0.5 - (line_N - middle) / (2 * reach)) * (height_px - 1)
        draw.line(list(zip(across.tolist(), down.tolist(), strict=True)), fill=colour)
    return picture


def _spectrogram(
    samples_N: np.ndarray, original_N: np.ndarray, *, height_px: int
) -> PIL.Image.Image:
    """Draws the power over time and frequency, the lowest below, on the scale of the example."""
    loudest = _decibels(original_N).max()
    shares = np.clip(1 + (_decibels(samples_N) - loudest) / _SPAN_DB, 0, 1)
    colours = matplotlib.colormaps["magma"](shares.T[::-1], bytes=True)[..., :3]
    picture = PIL.Image.fromarray(colours)
    return picture.resize((_TILE_PX, height_px), PIL.Image.Resampling.BOX)


def _decibels(samples_N: np.ndarray) -> np.ndarray:
    """Returns the power of each window (rows) at each frequency (columns)."""
    missing = max(0, _WINDOW_SAMPLES - len(samples_N))
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(samples_N, (0, missing)), _WINDOW_SAMPLES
    )[:: _WINDOW_SAMPLES // 2]
    spectra = np.fft.rfft(windows * np.hanning(_WINDOW_SAMPLES), axis=1)
    return 10 * np.log10(np.abs(spectra) ** 2 + 1e-12)
