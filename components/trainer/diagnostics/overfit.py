"""Can the network learn one batch by heart? If not, a long training is a waste."""

import dataclasses

from components.trainer import metrics
from components.trainer import request as train_request
from components.trainer.diagnostics import setup

_MAX_BATCH_SIZE = 32
_STEPS_PER_REPORT = 25


@dataclasses.dataclass(frozen=True, kw_only=True)
class OverfitResult:
    """How far the network got.

    Attributes:
        losses: Mean loss over each stretch of steps.
        num_steps: Steps taken.
        metrics: `loss` and `accuracy`, or `loss`, `mae` and `rmse`, on the batch at the end.
        target_loss: What was asked for.
    """

    losses: list[float]
    num_steps: int
    metrics: dict[str, float]
    target_loss: float

    @property
    def has_passed(self) -> bool:
        """True if the loss came below the target."""
        return self.losses[-1] <= self.target_loss

    def sentence(self) -> str:
        """Says what came of it and what to look at."""
        reached = ", ".join(f"{name} {value:.4f}" for name, value in self.metrics.items())
        if self.has_passed:
            return f"The network learned one batch by heart in {self.num_steps} steps ({reached})."
        return (
            f"The network did not learn one batch by heart in {self.num_steps} steps ({reached}; "
            f"wanted: loss <= {self.target_loss}). Look for answers that do not belong to their "
            "inputs, a learning rate that is too low or too high (`kerasline lr-find`), or a "
            "network that is too small."
        )


def overfit(
    request: train_request.TrainRequest, *, max_steps: int = 500, target_loss: float = 0.02
) -> OverfitResult:
    """Trains on the first batch alone, without augmentation, decay or smoothing.

    Dropout stays, since it is part of the network; it makes the target harder to reach.

    Args:
        request: What to train; its folder is not touched.
        max_steps: Steps after which it gives up, > 0.
        target_loss: Mean loss over 25 steps that counts as learned, > 0.
    """
    training = setup.plain_training(
        request.training,
        learning_rate=request.training.optimizer.learning_rate,
        global_batch_size=min(request.training.global_batch_size, _MAX_BATCH_SIZE),
    )
    augmentless = request.input.model_copy(update={"augment": type(request.input.augment)()})
    bench = setup.make_bench(dataclasses.replace(request, training=training, input=augmentless))
    batches = iter(bench.dataset.take(1).cache().repeat())
    losses: list[float] = []
    means: dict[str, float] = {}
    num_steps = 0
    while num_steps < max_steps and not (losses and losses[-1] <= target_loss):
        means = metrics.means(bench.built.step.run(batches, _STEPS_PER_REPORT).totals)
        losses.append(means["loss"])
        num_steps += _STEPS_PER_REPORT
    return OverfitResult(losses=losses, num_steps=num_steps, metrics=means, target_loss=target_loss)
