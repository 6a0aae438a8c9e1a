"""EvaluationConfig: the thresholds that a model must meet to be blessed."""

from typing import Annotated, Any, Literal, Self

import pydantic

from models.base_config import StrictConfig

Fraction = Annotated[float, pydantic.Field(ge=0.0, le=1.0)]
_MAX_ACCURACY_DROP = 0.01
_MAX_MAE_RISE = 0.01
# What a simple learner on the same rows decides: nothing, or that a model that is not better than
# it is refused.
ReferenceRule = Literal["report", "beat"]


class ClassThresholds(StrictConfig):
    """Thresholds of a classifier, all set."""

    min_accuracy: Fraction
    min_class_accuracy: Fraction
    max_accuracy_drop: Fraction = _MAX_ACCURACY_DROP


class NumberThresholds(StrictConfig):
    """Thresholds of a model of numbers, of which at least one of the first two is set."""

    max_mae: float | None = None
    min_skill: float | None = None
    max_mae_rise: float = _MAX_MAE_RISE


class EvaluationConfig(StrictConfig):
    """Thresholds on the test split: of classes for the whole and each class, or of numbers."""

    min_accuracy: Fraction | None = None
    min_class_accuracy: Fraction | None = None
    # How far accuracy may fall below the latest blessed model's; 0.01 if unset.
    max_accuracy_drop: Fraction | None = None
    # Mean absolute error, in the target's unit.
    max_mae: Annotated[float, pydantic.Field(gt=0.0)] | None = None
    # 1 - mae / that of the simple forecast: 0 is no better than that, 1 is perfect.
    min_skill: Annotated[float, pydantic.Field(lt=1.0)] | None = None
    # By what share the error may exceed the latest blessed model's; 0.01 if unset.
    max_mae_rise: Annotated[float, pydantic.Field(ge=0.0)] | None = None
    # Boosted trees beside a table's model, a linear model beside a text's: "report" if unset.
    reference: ReferenceRule | None = None

    @pydantic.model_validator(mode="after")
    def _both_thresholds_matter(self) -> Self:
        if self.min_accuracy is None or self.min_class_accuracy is None:
            return self
        if self.min_class_accuracy > self.min_accuracy:
            raise ValueError(
                "min_class_accuracy must not exceed min_accuracy, which would have no effect. "
                f"Received: min_class_accuracy = {self.min_class_accuracy}, "
                f"min_accuracy = {self.min_accuracy}. Lower the first or raise the second."
            )
        return self

    def check_answers(self, *, predicts_numbers: bool) -> None:
        """Checks that the thresholds are of the recipe's kind of answers, and enough.

        Args:
            predicts_numbers: True if the answers are numbers, False if they are classes.

        Raises:
            ValueError: If they are not.
        """
        kinds = ("numbers", "classes") if predicts_numbers else ("classes", "numbers")
        keys = {"classes": ClassThresholds.model_fields, "numbers": NumberThresholds.model_fields}
        foreign = [key for key in keys[kinds[1]] if getattr(self, key) is not None]
        if foreign:
            raise ValueError(
                f"A recipe that predicts {kinds[0]} has the thresholds "
                f"{', '.join(keys[kinds[0]])}. Received: {', '.join(foreign)}. Remove them."
            )
        needed = ("max_mae", "min_skill") if predicts_numbers else tuple(keys["classes"])[:2]
        there = [key for key in needed if getattr(self, key) is not None]
        if len(there) < (1 if predicts_numbers else 2):
            joint = " or " if predicts_numbers else " and "
            raise ValueError(
                f"A recipe that predicts {kinds[0]} needs {joint.join(needed)}. "
                f"Received: {', '.join(there) or 'neither'}. Say how good is good enough."
            )

    def of_classes(self) -> ClassThresholds:
        """Returns the thresholds of a classifier.

        Raises:
            pydantic.ValidationError: If the recipe predicts numbers.
        """
        return ClassThresholds.from_dict(self._bounds())

    def of_numbers(self) -> NumberThresholds:
        """Returns the thresholds of a model of numbers.

        Raises:
            pydantic.ValidationError: If the recipe predicts classes.
        """
        return NumberThresholds.from_dict(self._bounds())

    def _bounds(self) -> dict[str, Any]:
        return {key: value for key, value in self.to_dict().items() if key != "reference"}
