"""Recipe (what is learned) and RunConfig (where it runs)."""

import re
from typing import Annotated, Literal, Self

import pydantic

from components.data_guard.config import DataGuardConfig
from components.evaluator.config import EvaluationConfig
from components.ingest.config import DataConfig
from components.input_pipeline.config import InputConfig
from components.trainer.config import TrainingConfig
from components.transform.config import FITTED_INPUTS
from models.base_config import StrictConfig
from models.config import ARCHITECTURES, FLOAT8_ARCHITECTURES, CnnConfig, ModelConfig

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,49}")

Task = Literal[
    "image_classification",
    "text_classification",
    "audio_classification",
    "tabular_classification",
    "tabular_regression",
    "forecasting",
]
# A name and a number that is above 0.
DATA_SERVICE = r"^.+:[1-9][0-9]*$"
# Their preprocessing has tables of words, which a service's workers cannot be given.
_INPUTS_WITHOUT_SERVICE = ("text", "table")
# A TPU compiles every step by itself.
_STRATEGIES_WITHOUT_JIT = ("mirrored", "multi_worker_mirrored", "tpu")
# The tables of `[data]` that hold the input and the answer.
_TASK_DATA = {
    "image_classification": ("image", "label"),
    "text_classification": ("text", "label"),
    "audio_classification": ("audio", "label"),
    "tabular_classification": ("table", "label"),
    "tabular_regression": ("table", "target"),
    "forecasting": ("series", None),
}


class Recipe(StrictConfig):
    """What is learned: one TOML file."""

    schema_version: Literal[1] = 1
    name: str
    description: str
    task: Task
    # Keras and NumPy take no others.
    seed: Annotated[int, pydantic.Field(ge=0, lt=2**32)] = 0
    data: DataConfig
    data_guard: DataGuardConfig = DataGuardConfig()
    input: InputConfig = InputConfig()
    model: ModelConfig
    training: TrainingConfig
    evaluation: EvaluationConfig

    @pydantic.model_validator(mode="after")
    def _name_suits_folders(self) -> Self:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                "name must be 1 to 50 lower-case letters, digits, _ or -, and start with a letter, "
                f"because folders and pipelines are named by it. Received: name = {self.name!r}."
            )
        return self

    @pydantic.model_validator(mode="after")
    def _task_fits_the_data(self) -> Self:
        found = self.data.input_name, self.data.answer_name
        if found != _TASK_DATA[self.task]:
            raise ValueError(
                f"task = {self.task!r} needs the tables {_tables(_TASK_DATA[self.task])}. "
                f"Received: {_tables(found)}. Change the task or the data."
            )
        return self

    @pydantic.model_validator(mode="after")
    def _augmentation_fits_the_input(self) -> Self:
        self.input.check_kind(self.data.input_name)
        return self

    @pydantic.model_validator(mode="after")
    def _settings_fit_the_answers(self) -> Self:
        self.training.check_answers(predicts_numbers=self.data.predicts_numbers)
        self.evaluation.check_answers(predicts_numbers=self.data.predicts_numbers)
        return self

    @pydantic.model_validator(mode="after")
    def _reference_has_a_learner(self) -> Self:
        if self.evaluation.reference is not None and self.data.input_name not in FITTED_INPUTS:
            raise ValueError(
                "evaluation.reference is about the simple learner beside a text or a table. "
                f"Received: reference = {self.evaluation.reference!r}, the input "
                f"data.{self.data.input_name}. Remove it."
            )
        return self

    @pydantic.model_validator(mode="after")
    def _model_reads_the_input(self) -> Self:
        kind = self.data.input_name
        valid = ARCHITECTURES[kind]
        if self.model.architecture not in valid:
            raise ValueError(
                f"model.architecture must be one that reads data.{kind}: {', '.join(valid)}. "
                f"Received: architecture = {self.model.architecture!r}. Change the model."
            )
        return self

    @pydantic.model_validator(mode="after")
    def _convolutions_have_steps(self) -> Self:
        table = self.data.table
        if table is not None and self.model.architecture == "tcn" and not table.sequences():
            raise ValueError(
                'model.architecture = "tcn" convolves over lists of numbers, columns of the kind '
                f'"sequence". Received: the columns {", ".join(table.columns)}. Use "mlp".'
            )
        return self

    @pydantic.model_validator(mode="after")
    def _float8_has_matrix_products(self) -> Self:
        architecture = self.model.architecture
        if self.training.precision == "float8" and architecture not in FLOAT8_ARCHITECTURES:
            raise ValueError(
                'training.precision = "float8" needs dense layers, which these architectures have: '
                f"{', '.join(FLOAT8_ARCHITECTURES)}. Received: architecture = {architecture!r}. "
                'Use "auto" or "mixed_bfloat16".'
            )
        return self

    @pydantic.model_validator(mode="after")
    def _translation_leaves_some_image(self) -> Self:
        image = self.data.image
        if image is None:
            return self
        limit = min(image.height_px, image.width_px)
        if self.input.augment.max_translation_px >= limit:
            raise ValueError(
                "input.augment.max_translation_px must be less than the image's shorter side. "
                f"Received: max_translation_px = {self.input.augment.max_translation_px}, "
                f"data.image = {image.height_px} x {image.width_px} px. Lower it."
            )
        return self

    @pydantic.model_validator(mode="after")
    def _image_is_large_enough_for_the_model(self) -> Self:
        image = self.data.image
        if image is None or not isinstance(self.model, CnnConfig):
            return self
        stages = len(self.model.stage_channels)
        if min(image.height_px, image.width_px) < 2**stages:
            raise ValueError(
                f"model.stage_channels has {stages} stages, each of which halves the image, so "
                f"both sides must be at least {2**stages} px. Received: data.image = "
                f"{image.height_px} x {image.width_px} px. Use fewer stages or larger images."
            )
        return self


def _tables(names: tuple[str, str | None]) -> str:
    return " and ".join(f"data.{name}" for name in names if name)


class RunConfig(StrictConfig):
    """Where it runs; the same recipe runs with any of these."""

    root: str = "runs"
    strategy: Literal["auto", "one_device", "mirrored", "multi_worker_mirrored", "tpu"] = "auto"
    # Where a training is recorded besides its folder; addresses and keys come from their own
    # environment variables, such as MLFLOW_TRACKING_URI and WANDB_API_KEY.
    trackers: tuple[Literal["mlflow", "wandb"], ...] = ()
    # Arguments of Apache Beam's runner, such as `--runner=FlinkRunner`; without them no step needs
    # Beam's own process, and all run in one.
    beam_options: tuple[str, ...] = ()
    # The container image of Kubernetes, Kubeflow and Vertex AI.
    image: str = "kerasline:latest"
    # Who makes the training batches in place of the trainer: the HOST:PORT of a tf.data service's
    # dispatcher, or local:N for N processes on this machine.
    data_service: Annotated[str, pydantic.Field(pattern=DATA_SERVICE)] | None = None
    # Of a training job on several machines: how many, and the volume claim that all of them share.
    num_workers: Annotated[int, pydantic.Field(ge=1)] = 2
    volume_claim: str = "kerasline-runs"


def check_run(recipe: Recipe, run: RunConfig) -> None:
    """Checks that the recipe can run there, as far as no device need be asked.

    Raises:
        ValueError: If the two contradict each other.
    """
    if recipe.training.jit_compile is True and run.strategy in _STRATEGIES_WITHOUT_JIT:
        raise ValueError(
            "training.jit_compile = true needs one device, since TensorFlow cannot compile the sum "
            f"over replicas. Received: jit_compile = true, strategy = {run.strategy!r}. "
            'Set training.jit_compile to "auto" or false, or use the strategy one_device.'
        )
    if run.data_service is not None and recipe.data.input_name in _INPUTS_WITHOUT_SERVICE:
        raise ValueError(
            "A data service makes batches of images, recordings and series. Received: "
            f"data_service = {run.data_service!r}, the input data.{recipe.data.input_name}. "
            "Leave the service out."
        )
    if run.data_service is not None and run.strategy == "multi_worker_mirrored":
        raise ValueError(
            "A data service serves one trainer, since each would take a part of the steps. "
            f"Received: data_service = {run.data_service!r}, strategy = {run.strategy!r}. "
            "Leave one of them out."
        )
