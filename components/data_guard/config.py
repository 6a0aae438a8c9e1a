"""DataGuardConfig: when a finding stops the run, and which findings are accepted."""

from typing import Annotated, Literal

import pydantic

from models.base_config import StrictConfig

Share = Annotated[float, pydantic.Field(ge=0.0, le=1.0)]

FindingName = Literal[
    "exact_duplicates",
    "near_duplicates",
    "exact_leaks",
    "near_leaks",
    "conflicting_labels",
    "blank_images",
    "rare_classes",
    "label_shift",
    "pixel_shift",
    "shortcut",
]


class DataGuardConfig(StrictConfig):
    """Above its limit a finding stops the run; below it, it is only reported."""

    # Of the rows in validation and test, those whose image is in the training split too.
    max_exact_leak_share: Share = 0.001
    max_near_leak_share: Share = 0.01
    # Of all rows, those whose image occurs with another label as well.
    max_conflict_share: Share = 0.01
    # Of all rows, those with an image of a single colour.
    max_blank_share: Share = 0.01
    # Half the summed difference of the class shares of two splits.
    max_label_shift: Share = 0.2
    # Largest difference of the two distributions of brightness, or of contrast.
    max_pixel_shift: Share = 0.3
    # Accuracy on validation of the best rule that looks at one number of each image alone.
    max_shortcut_accuracy: Share = 0.98
    # Finding -> why it is known and right; the reason is kept in the report.
    accept: dict[FindingName, Annotated[str, pydantic.Field(min_length=10)]] = {}
