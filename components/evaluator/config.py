"""EvaluationConfig: the thresholds that a model must meet to be blessed."""

from typing import Annotated

import pydantic

from models.base_config import StrictConfig

Fraction = Annotated[float, pydantic.Field(ge=0.0, le=1.0)]


class EvaluationConfig(StrictConfig):
    """Thresholds on the test split, for the whole and for each class."""

    min_accuracy: Fraction
    min_class_accuracy: Fraction
    # How far accuracy may fall below the latest blessed model's.
    max_accuracy_drop: Fraction = 0.01
