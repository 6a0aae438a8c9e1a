"""Recipe (what is learned) and RunConfig (where it runs)."""

from typing import Literal

from components.evaluator.config import EvaluationConfig
from components.ingest.config import DataConfig
from components.input_pipeline.config import InputConfig
from components.trainer.config import TrainingConfig
from models.base_config import StrictConfig
from models.config import ModelConfig


class Recipe(StrictConfig):
    """What is learned: one TOML file."""

    schema_version: Literal[1] = 1
    name: str
    description: str
    task: Literal["image_classification"]
    seed: int = 0
    data: DataConfig
    input: InputConfig = InputConfig()
    model: ModelConfig
    training: TrainingConfig
    evaluation: EvaluationConfig


class RunConfig(StrictConfig):
    """Where it runs; the same recipe runs with any of these."""

    root: str = "runs"
    strategy: Literal["auto", "one_device", "mirrored", "multi_worker_mirrored", "tpu"] = "auto"
