"""EvaluationConfig: the thresholds that a model must meet to be blessed."""

from typing import Annotated, Self

import pydantic

from models.base_config import StrictConfig

Fraction = Annotated[float, pydantic.Field(ge=0.0, le=1.0)]


class EvaluationConfig(StrictConfig):
    """Thresholds on the test split, for the whole and for each class."""

    min_accuracy: Fraction
    min_class_accuracy: Fraction
    # How far accuracy may fall below the latest blessed model's.
    max_accuracy_drop: Fraction = 0.01

    @pydantic.model_validator(mode="after")
    def _both_thresholds_matter(self) -> Self:
        if self.min_class_accuracy > self.min_accuracy:
            raise ValueError(
                "min_class_accuracy must not exceed min_accuracy, which would have no effect. "
                f"Received: min_class_accuracy = {self.min_class_accuracy}, "
                f"min_accuracy = {self.min_accuracy}. Lower the first or raise the second."
            )
        return self
