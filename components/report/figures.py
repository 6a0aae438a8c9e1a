"""Draws the pictures of a report, as SVG text.

Legend: K classes; the first axis of `confusion_KK` is the true class, the second the predicted one.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib import figure, ticker

# A number in each cell can be read up to here.
_MAX_CLASSES_WITH_NUMBERS = 20


def learning_curves(epochs: Sequence[Mapping[str, Any]]) -> str:
    """Draws loss and accuracy, or mean error, of both splits over the epochs.

    Args:
        epochs: For each epoch, metric name -> value; a validation metric's name starts with `val_`.
    """
    shown = ("loss", "accuracy", "mae")
    names = [name for name in shown if all(name in epoch for epoch in epochs)]
    picture = figure.Figure(figsize=(4.5 * max(1, len(names)), 3), layout="constrained")
    numbers = range(1, len(epochs) + 1)
    for position, name in enumerate(names, start=1):
        axes = picture.add_subplot(1, len(names), position, xlabel="epoch", ylabel=name)
        axes.plot(numbers, [epoch[name] for epoch in epochs], ".-", label="training")
        if all(f"val_{name}" in epoch for epoch in epochs):
            values = [epoch[f"val_{name}"] for epoch in epochs]
            axes.plot(numbers, values, ".-", label="validation")
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        axes.legend()
    return svg(picture)


def confusion_matrix(confusion_KK: Sequence[Sequence[int]], class_names: Sequence[str]) -> str:
    """Draws the share of each true class that was taken for each class.

    Args:
        confusion_KK: Number of examples for each true and predicted class.
        class_names: K names.
    """
    counts_KK = np.asarray(confusion_KK, float)
    shares_KK = counts_KK / np.maximum(counts_KK.sum(axis=1, keepdims=True), 1)
    num_classes = len(class_names)
    side_in = 2 + 0.42 * min(num_classes, 40)
    picture = figure.Figure(figsize=(side_in, side_in), layout="constrained")
    axes = picture.add_subplot(xlabel="predicted class", ylabel="true class")
    axes.imshow(shares_KK, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(num_classes), class_names, rotation=90)
    axes.set_yticks(range(num_classes), class_names)
    if num_classes <= _MAX_CLASSES_WITH_NUMBERS:
        for (row, column), share in np.ndenumerate(shares_KK):
            color = "white" if share > 0.5 else "black"
            text = f"{share:.0%}" if share >= 0.005 else ""
            axes.text(column, row, text, ha="center", va="center", color=color, fontsize=7)
    return svg(picture)


def svg(picture: figure.Figure) -> str:
    """Returns a picture as SVG; equal data give an equal text."""
    stream = io.StringIO()
    # Without a date and with names that are not random, equal data give an equal picture.
    with matplotlib.rc_context({"svg.hashsalt": "kerasline"}):
        picture.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]
