"""TrainingConfig: everything about learning except the data and the model."""

from typing import Annotated, Literal, Self

import pydantic

from models.base_config import StrictConfig

PositiveInt = Annotated[int, pydantic.Field(gt=0)]


class OptimizerConfig(StrictConfig):
    """The optimizer and its schedule."""

    name: Literal["adamw", "sgd"] = "adamw"
    learning_rate: Annotated[float, pydantic.Field(gt=0.0)] = 1e-3
    weight_decay: Annotated[float, pydantic.Field(ge=0.0)] = 1e-4
    # Of sgd alone; with Nesterov's correction where it is above 0.
    momentum: Annotated[float, pydantic.Field(ge=0.0, lt=1.0)] = 0.9
    # Largest norm of all gradients together; 0 does not clip.
    global_clipnorm: Annotated[float, pydantic.Field(ge=0.0)] = 1.0

    @pydantic.model_validator(mode="after")
    def _momentum_is_used(self) -> Self:
        default = OptimizerConfig.model_fields["momentum"].default
        if self.name != "sgd" and self.momentum != default:
            raise ValueError(
                'momentum belongs to name = "sgd" only. '
                f'Received: name = "{self.name}", momentum = {self.momentum}. '
                'Remove it, or set name = "sgd".'
            )
        return self


class ScheduleConfig(StrictConfig):
    """The learning rate over the run; steps are derived from the total."""

    name: Literal["constant", "linear", "cosine", "one_cycle"] = "cosine"
    warmup_share: Annotated[float, pydantic.Field(ge=0.0, lt=1.0)] = 0.05


class TrainingConfig(StrictConfig):
    """The training of a recipe."""

    num_epochs: PositiveInt
    global_batch_size: PositiveInt
    optimizer: OptimizerConfig = OptimizerConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    precision: Literal["auto", "float32", "mixed_float16", "mixed_bfloat16"] = "auto"
    label_smoothing: Annotated[float, pydantic.Field(ge=0.0, lt=1.0)] = 0.0
    steps_per_execution: PositiveInt = 32
