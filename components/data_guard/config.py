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
    "turned_leaks",
    "group_leaks",
    "time_leaks",
    "ignored_time",
    "target_leak",
    "shortcut",
    "conflicting_labels",
    "blank_inputs",
    "rare_classes",
    "order_bias",
    "label_shift",
    "pixel_shift",
    "feature_shift",
    "vocabulary_shift",
    "constant_columns",
    "identical_columns",
    "missing_values",
]


class DataGuardConfig(StrictConfig):
    """Above its limit a finding stops the run; below it, it is only reported."""

    # Of the rows in validation and test, those that are in a split before theirs too.
    max_exact_leak_share: Share = 0.001
    max_near_leak_share: Share = 0.01
    # Of the images there, those that are a mirrored or turned copy of one in a split before theirs.
    # They are looked for only if it is less than 1, which takes long; arrows and letters are each
    # other's mirror images by nature.
    max_turned_leak_share: Share = 1.0
    # Of the rows in validation and test, those of a group that another split has too.
    max_group_leak_share: Share = 0.0
    # Of all rows, the least that would have to move for each split to be later than the last.
    max_time_leak_share: Share = 0.0
    # Of all rows, those that occur with another label as well.
    max_conflict_share: Share = 0.01
    # Of all rows, those with an image of one colour, a text without words, a silent recording or a
    # past without change.
    max_blank_share: Share = 0.01
    # Half the summed difference of the class shares of two splits.
    max_label_shift: Share = 0.2
    # Largest difference of the two distributions of brightness, or of contrast.
    max_pixel_shift: Share = 0.3
    # The same of a column of numbers; of names, half the summed difference of their shares.
    max_feature_shift: Share = 0.3
    # Half the summed difference of the words' shares, beyond that within training.
    max_vocabulary_shift: Share = 0.3
    # Accuracy on validation of the best rule that looks at one number of each image alone.
    max_shortcut_accuracy: Share = 0.98
    # Of the errors on validation of always giving the most frequent answer, those that a rule over
    # one column, or over one word for each class, avoids.
    max_target_leak: Share = 0.9
    # Finding -> why it is known and right; the reason is kept in the report.
    accept: dict[FindingName, Annotated[str, pydantic.Field(min_length=10)]] = {}
