"""What a training is asked to do: the recipe's parts, the files and the folder."""

import dataclasses
import pathlib
from typing import Any

from components.ingest.config import DataConfig
from components.input_pipeline.config import InputConfig
from components.trainer.config import TrainingConfig
from components.transform import fitted
from components.transform.fitted import AnyFitted
from models.config import ModelConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """What to train, on what, and where.

    Attributes:
        data: The recipe's data.
        input: The recipe's input pipeline.
        model: The recipe's model.
        training: The recipe's training.
        name: The recipe's name, by which trackers call the run.
        seed: Seed of weights, data order, augmentation and dropout.
        strategy: One of `components.trainer.strategy.STRATEGIES`.
        train_files: TFRecord shards of the train split.
        validation_files: TFRecord shards of the validation split.
        directory: Log and checkpoints; a run that was interrupted goes on from those that are
            there.
        fitted: What was learned of the train split for the input; None if it needs nothing.
        cache_dir: Keeps what was measured about this machine; None measures anew.
        trackers: Where the run is recorded besides its folder; see
            `components.trainer.trackers.names`.
        max_batches: Ends each epoch and each validation after so many batches, for a trial.
        data_service: Who makes the training batches in place of this process; see
            `components.input_pipeline.service.distribute`.
    """

    data: DataConfig
    input: InputConfig
    model: ModelConfig
    training: TrainingConfig
    seed: int
    strategy: str
    train_files: tuple[str, ...]
    validation_files: tuple[str, ...]
    directory: pathlib.Path
    fitted: AnyFitted | None = None
    cache_dir: pathlib.Path | None = None
    trackers: tuple[str, ...] = ()
    max_batches: int | None = None
    data_service: str | None = None
    name: str = "kerasline"

    def run_config(self) -> dict[str, Any]:
        """Returns the settings that a continued run must have unchanged; replicas are not one."""
        return {
            "data": self.data.to_dict(),
            "input": self.input.to_dict(),
            "model": self.model.to_dict(),
            "training": self.training.to_dict(),
            "seed": self.seed,
            "fitted": fitted.digest(self.fitted) if self.fitted else None,
        }
