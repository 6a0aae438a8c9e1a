"""How many rows per second the training chain gives after each of its stages, and what would help.

Legend: B batch.
"""

import dataclasses
import pathlib
import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from components.input_pipeline import preview
from components.input_pipeline.config import InputConfig

# From the recipe's `[input]`, or a part of it, to the stages of `chain.train_stages`.
MakeStages = Callable[[InputConfig], dict[str, tf.data.Dataset]]

_MEASURED_SECS = 1.0
_WARM_UP = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class StageSpeeds:
    """What was measured.

    Attributes:
        rows_per_sec: Stage -> rows per second of the chain cut off after it.
        advice: The one setting most worth changing, as a sentence.
    """

    rows_per_sec: dict[str, float]
    advice: str

    def costs_us(self) -> dict[str, float]:
        """Returns what each stage adds to the time of a row, in microseconds.

        >>> speeds = StageSpeeds(rows_per_sec={"order": 1e6, "read": 5e5}, advice="")
        >>> speeds.costs_us()
        {'order': 1.0, 'read': 1.0}
        """
        costs, before = {}, 0.0
        for name, rate in self.rows_per_sec.items():
            costs[name] = max(1e6 / rate - before, 0.0)
            before = max(1e6 / rate, before)
        return costs


def measure(make_stages: MakeStages, config: InputConfig, *, kind: str) -> StageSpeeds:
    """Measures each stage for about a second.

    Args:
        make_stages: Makes the chain's stages, without end.
        config: The recipe's `[input]`.
        kind: The kind of the recipe's input.
    """
    rates = {name: rows_per_sec(stage) for name, stage in make_stages(config).items()}
    speeds = StageSpeeds(rows_per_sec=rates, advice="")
    costs = speeds.costs_us()
    slowest = max(costs, key=lambda name: costs[name])
    advice = _advice(slowest, make_stages, config, kind=kind)
    share = costs[slowest] / sum(costs.values())
    sentence = f"{slowest} takes {share:.0%} of a row's time. {advice}"
    return dataclasses.replace(speeds, advice=sentence)


def rows_per_sec(dataset: tf.data.Dataset) -> float:
    """Measures how many rows per second an endless dataset of batches gives.

    Args:
        dataset: Of batches with one static size.
    """
    size = max(spec.shape[0] for spec in tf.nest.flatten(dataset.element_spec) if spec.shape.rank)
    iterator = iter(dataset)
    for _ in range(_WARM_UP):
        next(iterator)
    started = time.monotonic()
    count = 0
    while time.monotonic() - started < _MEASURED_SECS:
        next(iterator)
        count += 1
    return size * count / (time.monotonic() - started)


def draw(speeds: StageSpeeds, path: pathlib.Path) -> None:
    """Draws rows per second after each stage as bars, and writes what would help below them.

    Args:
        speeds: What was measured.
        path: PNG file to write.
    """
    # Imported here, since it takes a second and only the picture needs it.
    from matplotlib import figure

    picture = figure.Figure(figsize=(7, 3), layout="constrained")
    axes = picture.add_subplot()
    bars = axes.barh(list(speeds.rows_per_sec), list(speeds.rows_per_sec.values()), color="#1565c0")
    axes.bar_label(bars, [f" {rate:,.0f}" for rate in speeds.rows_per_sec.values()])
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="rows per second after each stage", title=speeds.advice)
    axes.title.set_fontsize(8)
    axes.margins(x=0.15)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=120)


def _advice(slowest: str, make_stages: MakeStages, config: InputConfig, *, kind: str) -> str:
    if slowest == "augment":
        return _dearest_setting(make_stages, config, kind=kind)
    if slowest == "mix":
        return "Mixing costs it: set input.augment.mixup_alpha or input.augment.cutmix_alpha to 0."
    if slowest == "read" and config.cache in ("disk", "none"):
        return f'Decode once: set input.cache to "memory" (now "{config.cache}").'
    if slowest == "read" and config.cache == "auto":
        return (
            'input.cache = "auto" took what there was room for: free memory, so that examples stay '
            "there, or let other processes read them (--data-service)."
        )
    if slowest == "read":
        return "Examples are gathered from the cache; no setting makes that quicker."
    return "No setting makes that quicker."


def _dearest_setting(make_stages: MakeStages, config: InputConfig, *, kind: str) -> str:
    """Names the augmentation that is slowest by itself."""
    alone: dict[str, float] = {}
    for title, part in preview.settings_in_use(config, kind).items():
        stages: dict[str, Any] = make_stages(part.model_copy(update={"cache": config.cache}))
        if "augment" in stages:
            alone[title] = rows_per_sec(stages["augment"])
    title = min(alone, key=lambda name: alone[name])
    name = title.split(" = ")[0]
    return (
        f"Weaken or remove input.{preview.TABLES[kind]}.{name}: "
        f"by itself it allows {alone[title]:,.0f} rows/s."
    )
