"""Watchers of the validation split that change the run; their state is part of every checkpoint."""

import math
from typing import Any

from components.trainer import config


class _Patience:
    """Counts the epochs since a metric improved.

    Args:
        metric: Such as `val_loss`, of which less is better, or `val_accuracy`.
        min_delta: An improvement smaller than this does not count.
    """

    def __init__(self, metric: config.Metric, *, min_delta: float = 0.0):
        self.metric = metric
        self._min_delta = min_delta
        self.best = -math.inf
        self.num_epochs_since = 0

    def update(self, metrics: dict[str, float]) -> int:
        """Returns the number of epochs since the best one, 0 if this one is it."""
        score = score_of(self.metric, metrics)
        if score > self.best + self._min_delta or self.best == -math.inf:
            self.best = score
            self.num_epochs_since = 0
        else:
            self.num_epochs_since += 1
        return self.num_epochs_since

    def to_dict(self) -> dict[str, Any]:
        """Returns the state as JSON can hold it."""
        best = None if self.best == -math.inf else self.best
        return {"best": best, "num_epochs_since": self.num_epochs_since}

    def load(self, state: dict[str, Any]) -> None:
        """Takes over a state that `to_dict` returned."""
        self.best = -math.inf if state["best"] is None else state["best"]
        self.num_epochs_since = state["num_epochs_since"]


class EarlyStopping(_Patience):
    """Says when to stop.

    Args:
        settings: The recipe's early stopping.
    """

    def __init__(self, settings: config.EarlyStoppingConfig):
        super().__init__(settings.metric, min_delta=settings.min_delta)
        self._patience_epochs = settings.patience_epochs

    def should_stop(self, metrics: dict[str, float]) -> bool:
        """Looks at the metrics of an epoch; call it once for each."""
        return self.update(metrics) >= self._patience_epochs


class Plateau(_Patience):
    """Says by what the learning rate is to be multiplied.

    Args:
        settings: The recipe's plateau.
    """

    def __init__(self, settings: config.PlateauConfig):
        super().__init__(settings.metric)
        self._settings = settings

    def factor(self, metrics: dict[str, float]) -> float:
        """Looks at the metrics of an epoch; call it once for each.

        Returns:
            1.0, or the recipe's factor after its patience has run out; it then counts anew.
        """
        if self.update(metrics) < self._settings.patience_epochs:
            return 1.0
        self.num_epochs_since = 0
        return self._settings.factor


def score_of(metric: config.Metric, metrics: dict[str, float]) -> float:
    """Returns a metric turned so that higher is better.

    >>> score_of("val_loss", {"val_loss": 0.5, "val_accuracy": 0.9})
    -0.5
    """
    return metrics[metric] if metric == "val_accuracy" else -metrics[metric]
