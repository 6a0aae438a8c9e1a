"""TrainingConfig: everything about learning except the data and the model."""

from typing import Annotated, Literal, Self

import pydantic

from models.base_config import StrictConfig

PositiveInt = Annotated[int, pydantic.Field(gt=0)]
Share = Annotated[float, pydantic.Field(ge=0.0, lt=1.0)]
Metric = Literal["val_loss", "val_accuracy", "val_mae", "val_rmse"]
Loss = Literal["cross_entropy", "mse", "mae", "huber"]
NumberLoss = Literal["mse", "mae", "huber"]
_METRICS_OF_CLASSES = ("val_loss", "val_accuracy")
_METRICS_OF_NUMBERS = ("val_loss", "val_mae", "val_rmse")


class OptimizerConfig(StrictConfig):
    """The optimizer; its learning rate is the schedule's peak."""

    name: Literal["adamw", "sgd", "adafactor", "lion", "muon"] = "adamw"
    learning_rate: Annotated[float, pydantic.Field(gt=0.0)] = 1e-3
    weight_decay: Annotated[float, pydantic.Field(ge=0.0)] = 1e-4
    # Of sgd alone, 0.9 if unset; with Nesterov's correction where it is above 0.
    momentum: Share | None = None
    # Largest norm of all gradients together; 0 does not clip, since TOML cannot say none.
    global_clipnorm: Annotated[float, pydantic.Field(ge=0.0)] = 1.0
    # The batch size that the learning rate was found with; it then grows linearly with the batch.
    scale_with_batch: PositiveInt | None = None

    @pydantic.model_validator(mode="after")
    def _momentum_is_sgds(self) -> Self:
        if self.momentum is not None and self.name != "sgd":
            raise ValueError(
                "`momentum` has an effect with the optimizer sgd alone. "
                f"Received: momentum={self.momentum}, name={self.name!r}. Remove it."
            )
        return self

    def peak_rate(self, global_batch_size: int) -> float:
        """Returns the peak learning rate for a batch size (https://arxiv.org/abs/1706.02677).

        >>> OptimizerConfig(learning_rate=0.1, scale_with_batch=256).peak_rate(1024)
        0.4
        """
        if self.scale_with_batch is None:
            return self.learning_rate
        return self.learning_rate * global_batch_size / self.scale_with_batch


class PlateauConfig(StrictConfig):
    """Lowers the learning rate when the validation split stops improving."""

    factor: Annotated[float, pydantic.Field(gt=0.0, lt=1.0)] = 0.5
    patience_epochs: PositiveInt = 3
    metric: Metric = "val_loss"


class ScheduleConfig(StrictConfig):
    """The learning rate over the run; steps are derived from the total."""

    name: Literal["constant", "linear", "cosine", "one_cycle", "reduce_on_plateau"] = "cosine"
    # The warm-up as a share of the run, 0.05 if neither is set, or as a number of steps.
    warmup_share: Share | None = None
    warmup_steps: Annotated[int, pydantic.Field(ge=0)] | None = None
    plateau: PlateauConfig | None = None

    @pydantic.model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.warmup_share is not None and self.warmup_steps is not None:
            raise ValueError(
                "The warm-up is either `warmup_share` or `warmup_steps`. Received: "
                f"warmup_share={self.warmup_share}, warmup_steps={self.warmup_steps}. Remove one."
            )
        if self.plateau is not None and self.name != "reduce_on_plateau":
            raise ValueError(
                "`plateau` lowers a rate that no schedule moves, so it needs "
                f"name='reduce_on_plateau'. Received: name={self.name!r}. "
                "Change the name, or remove the table `plateau`."
            )
        return self


class EarlyStoppingConfig(StrictConfig):
    """Ends the run when the validation split stops improving."""

    metric: Metric = "val_loss"
    patience_epochs: PositiveInt = 5
    # An improvement smaller than this does not count.
    min_delta: Annotated[float, pydantic.Field(ge=0.0)] = 0.0


class CheckpointConfig(StrictConfig):
    """When checkpoints are written besides the end of every epoch, and which are kept."""

    every_steps: PositiveInt | None = None
    keep_best: Annotated[int, pydantic.Field(ge=0)] = 3
    # By which the best are kept: val_accuracy of classes and val_mae of numbers if unset.
    metric: Metric | None = None


class TrainingConfig(StrictConfig):
    """The training of a recipe."""

    num_epochs: PositiveInt
    global_batch_size: PositiveInt
    optimizer: OptimizerConfig = OptimizerConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    precision: Literal["auto", "float32", "mixed_float16", "mixed_bfloat16", "float8"] = "auto"
    # cross_entropy of classes and huber of numbers if unset.
    loss: Loss | None = None
    # Of cross_entropy alone.
    label_smoothing: Share = 0.0
    # One weight for each class, in the order of the class names; 1.0 for all if unset.
    class_weights: tuple[Annotated[float, pydantic.Field(ge=0.0)], ...] | None = None
    # Micro-batches per step: the memory of one, the mathematics of all.
    accumulation_steps: PositiveInt = 1
    # Blocks of the model are computed again for their gradients instead of being kept.
    rematerialisation: bool = False
    # Momentum of the moving average of the weights that is measured and exported; none if unset.
    ema_momentum: Annotated[float, pydantic.Field(gt=0.0, lt=1.0)] | None = None
    # Prefixes of names of layers that stay as they are.
    frozen_layers: tuple[str, ...] = ()
    early_stopping: EarlyStoppingConfig | None = None
    checkpoints: CheckpointConfig = CheckpointConfig()
    # The weights that are exported: of the last epoch, or of the best by `checkpoints.metric`.
    final_weights: Literal["last", "best"] = "last"
    # Event files for TensorBoard, beside the log.
    tensorboard: bool = True
    steps_per_execution: PositiveInt | Literal["auto"] = "auto"
    jit_compile: bool | Literal["auto"] = "auto"
    # The same bits every time on a GPU too, where that takes longer; a processor has them anyway.
    deterministic: bool = False

    @pydantic.model_validator(mode="after")
    def _is_consistent(self) -> Self:
        spare = self.global_batch_size % self.accumulation_steps
        if spare:
            low = self.global_batch_size - spare
            nearest = [size for size in (low, low + self.accumulation_steps) if size]
            raise ValueError(
                "`accumulation_steps` must divide the batch. "
                f"Received: accumulation_steps={self.accumulation_steps}, "
                f"global_batch_size={self.global_batch_size}. "
                f"Nearest valid batch sizes: {' and '.join(map(str, nearest))}."
            )
        stopping, plateau = self.early_stopping, self.schedule.plateau
        if stopping and stopping.patience_epochs >= self.num_epochs:
            raise ValueError(
                "`early_stopping.patience_epochs` must be smaller than `num_epochs`, or it can "
                f"never stop. Received: patience_epochs={stopping.patience_epochs}, "
                f"num_epochs={self.num_epochs}."
            )
        if stopping and plateau and plateau.patience_epochs >= stopping.patience_epochs:
            raise ValueError(
                "`schedule.plateau.patience_epochs` must be smaller than that of `early_stopping`, "
                "or the run stops before the rate falls. "
                f"Received: {plateau.patience_epochs} and {stopping.patience_epochs}."
            )
        if self.final_weights == "best" and self.checkpoints.keep_best == 0:
            raise ValueError(
                "`final_weights` is best, but no best checkpoint is kept. "
                "Received: checkpoints.keep_best=0. Set it to 1 or more."
            )
        return self

    def number_loss(self) -> NumberLoss:
        """Returns the loss of numbers.

        Raises:
            ValueError: If it is one of classes.
        """
        if self.loss == "cross_entropy":
            raise ValueError("`training.loss` is one of classes. Received: cross_entropy.")
        return self.loss or "huber"

    def best_by(self, *, predicts_numbers: bool) -> Metric:
        """Returns the metric by which the best checkpoints are kept.

        Args:
            predicts_numbers: True if the answers are numbers, False if they are classes.
        """
        return self.checkpoints.metric or ("val_mae" if predicts_numbers else "val_accuracy")

    def check_answers(self, *, predicts_numbers: bool) -> None:
        """Checks that loss, metrics and weights are of the recipe's kind of answers.

        Args:
            predicts_numbers: True if the answers are numbers, False if they are classes.

        Raises:
            ValueError: If one is not.
        """
        kind = "numbers" if predicts_numbers else "classes"
        self._check_loss(kind)
        valid = _METRICS_OF_NUMBERS if predicts_numbers else _METRICS_OF_CLASSES
        for key, metric in self._metrics().items():
            if metric not in valid:
                raise ValueError(
                    f"`training.{key}` must be one of {', '.join(valid)} in a recipe that predicts "
                    f"{kind}. Received: {metric}."
                )

    def _check_loss(self, kind: str) -> None:
        losses = ("cross_entropy",) if kind == "classes" else ("mse", "mae", "huber")
        if self.loss not in (None, *losses):
            raise ValueError(
                f"`training.loss` must be one of {', '.join(losses)} in a recipe that predicts "
                f"{kind}. Received: {self.loss}."
            )
        if kind == "numbers" and (self.label_smoothing or self.class_weights):
            raise ValueError(
                "`training.label_smoothing` and `training.class_weights` have an effect on classes "
                f"alone, and the recipe predicts numbers. Received: label_smoothing="
                f"{self.label_smoothing}, class_weights={self.class_weights}. Remove them."
            )

    def _metrics(self) -> dict[str, Metric]:
        named = {"checkpoints.metric": self.checkpoints.metric}
        if self.early_stopping:
            named["early_stopping.metric"] = self.early_stopping.metric
        if self.schedule.plateau:
            named["schedule.plateau.metric"] = self.schedule.plateau.metric
        return {key: metric for key, metric in named.items() if metric is not None}
