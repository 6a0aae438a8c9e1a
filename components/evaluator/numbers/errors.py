"""The errors of one model or simple forecast, added up batch by batch.

Axes: B batch, N examples, H numbers of a target.
"""

import numpy as np


class Errors:
    """Sums for every step of the target, and the mean absolute error of each example.

    Args:
        num_numbers: Numbers H in a target.
    """

    def __init__(self, num_numbers: int):
        self._absolute_H = np.zeros(num_numbers)
        self._squared_H = np.zeros(num_numbers)
        self._parts: list[np.ndarray] = []

    def add(self, predictions_BH: np.ndarray, targets_BH: np.ndarray) -> None:
        """Takes a batch in.

        Raises:
            ValueError: If the predictions have another shape than the targets.
        """
        if predictions_BH.shape != targets_BH.shape:
            raise ValueError(
                f"The model must predict {targets_BH.shape[1]} number(s) for each example. "
                f"Received: predictions of shape {predictions_BH.shape} for targets of shape "
                f"{targets_BH.shape}."
            )
        errors_BH = predictions_BH.astype(np.float64) - targets_BH
        self._absolute_H += np.abs(errors_BH).sum(0)
        self._squared_H += (errors_BH**2).sum(0)
        self._parts.append(np.abs(errors_BH).mean(1))

    @property
    def by_example(self) -> np.ndarray:
        """Mean absolute error of each example, (N,), in their order."""
        return np.concatenate(self._parts)

    @property
    def num_examples(self) -> int:
        """Examples taken in so far."""
        return sum(len(part_B) for part_B in self._parts)

    def mae(self) -> float:
        """Returns the mean absolute error."""
        return float(self._absolute_H.mean() / self.num_examples)

    def rmse(self) -> float:
        """Returns the root of the mean squared error."""
        return float(np.sqrt(self._squared_H.mean() / self.num_examples))

    def mae_by_step(self) -> tuple[float, ...]:
        """Returns the mean absolute error of each number of the target."""
        return tuple((self._absolute_H / self.num_examples).tolist())
