"""How many steps a training takes, and whether the recipe's settings fit into them.

Importing this module does not import TensorFlow: a misfit is known before it.
"""

from components.ingest.errors import BadRecipeError
from components.trainer.config import ScheduleConfig, TrainingConfig

_DEFAULT_WARMUP_SHARE = 0.05


def steps_per_epoch(training: TrainingConfig, *, num_examples: int) -> int:
    """Returns the steps of one pass over the train split; a part of a batch is left for the next.

    Args:
        training: The recipe's training.
        num_examples: Examples of the train split.

    Raises:
        BadRecipeError: If the batch is larger than the split.
    """
    if training.global_batch_size > num_examples:
        raise BadRecipeError(
            "Expected training.global_batch_size to be at most the number of training examples. "
            f"Received: global_batch_size={training.global_batch_size}, examples={num_examples}. "
            f"Nearest valid size: {num_examples}."
        )
    return num_examples // training.global_batch_size


def warmup_steps(schedule: ScheduleConfig, *, total_steps: int) -> int:
    """Returns the steps of the warm-up.

    Args:
        schedule: The recipe's schedule.
        total_steps: Steps of the whole run, > 0.

    Raises:
        BadRecipeError: If the warm-up leaves no step for training.

    >>> warmup_steps(ScheduleConfig(warmup_share=0.1), total_steps=1000)
    100
    """
    if schedule.warmup_steps is None:
        share = _DEFAULT_WARMUP_SHARE if schedule.warmup_share is None else schedule.warmup_share
        return int(total_steps * share)
    if schedule.warmup_steps >= total_steps:
        raise BadRecipeError(
            "Expected training.schedule.warmup_steps to be smaller than the number of steps of the "
            f"run. Received: warmup_steps={schedule.warmup_steps}, run={total_steps} steps. "
            "Lower it, raise training.num_epochs, or use warmup_share."
        )
    return schedule.warmup_steps


def check(training: TrainingConfig, *, num_examples: int) -> None:
    """Checks the settings that only the size of the data can contradict.

    Args:
        training: The recipe's training.
        num_examples: Examples of the train split.

    Raises:
        BadRecipeError: If the batch or the warm-up does not fit.
    """
    steps = steps_per_epoch(training, num_examples=num_examples)
    warmup_steps(training.schedule, total_steps=steps * training.num_epochs)
