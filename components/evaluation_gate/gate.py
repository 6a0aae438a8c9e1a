"""Turns missed thresholds into a sentence."""

from components import gates
from components.evaluator import outcome

STEP = "evaluation_gate"
_MAX_FAILURES_SHOWN = 6
# (metric, kind, whether it is of one class) -> the key of the recipe that sets the bound.
_KEYS = {
    ("accuracy", "value", False): "evaluation.min_accuracy",
    ("accuracy", "value", True): "evaluation.min_class_accuracy",
    ("accuracy", "change", False): "evaluation.max_accuracy_drop",
    ("accuracy", "reference", False): "evaluation.reference",
    ("mae", "reference", False): "evaluation.reference",
    ("mae", "value", False): "evaluation.max_mae",
    ("skill", "value", False): "evaluation.min_skill",
    ("mae", "change", False): "evaluation.max_mae_rise",
}


def check(found: outcome.AnyOutcome, class_names: tuple[str, ...] = ()) -> None:
    """Refuses a model that missed a threshold.

    Args:
        found: What the evaluation found.
        class_names: The name of each class, by label; none if numbers are predicted.

    Raises:
        GateRefusedError: If the model is not blessed; the message names each metric and class, the
            value, what it should have been, by how much it is short, and what to do.
    """
    if found.blessed:
        return
    failures = [_describe(failure, found, class_names) for failure in found.failures]
    shown = "; ".join(failures[:_MAX_FAILURES_SHOWN])
    num_hidden = len(failures) - _MAX_FAILURES_SHOWN
    more = f"; and {num_hidden} more" if num_hidden > 0 else ""
    raise gates.GateRefusedError(
        STEP, f"The model is not good enough to publish: {shown}{more}. {_cure(found)}"
    )


def _describe(
    failure: outcome.Failure, found: outcome.AnyOutcome, class_names: tuple[str, ...]
) -> str:
    if failure.kind == "reference" and found.comparison is not None:
        sentence = found.comparison.sentence().rstrip(".")
        return f"{sentence[0].lower()}{sentence[1:]}"
    if isinstance(found, outcome.NumbersOutcome):
        return _describe_error(failure, found)
    short_by = f"short by {failure.bound - failure.value:.4f}"
    if failure.kind == "change":
        return (
            f"{failure.metric} fell by {-failure.value:.4f} against the last published model, "
            f"and may fall by {-failure.bound:.4f} ({short_by})"
        )
    where = "over all classes"
    if failure.label is not None:
        where = f"on class {class_names[failure.label]!r}"
    return (
        f"{failure.metric} {where} is {failure.value:.4f} and must be at least "
        f"{failure.bound:.4f} ({short_by})"
    )


def _describe_error(failure: outcome.Failure, found: outcome.NumbersOutcome) -> str:
    if failure.kind == "change":
        return (
            f"the mean absolute error rose by {failure.value:.1%} against the last published "
            f"model, and may rise by {failure.bound:.1%}"
        )
    if failure.metric == "mae":
        return (
            f"the mean absolute error is {failure.value:.6g} and must be at most "
            f"{failure.bound:.6g} (too large by {failure.value - failure.bound:.4g})"
        )
    return (
        f"the skill is {failure.value:.4f} and must be at least {failure.bound:.4f} (short by "
        f"{failure.bound - failure.value:.4f}): the mean absolute error is "
        f"{found.metrics['mae']:.6g}, and {found.simple_metrics['mae']:.6g} if one says "
        f"{found.simple_name}"
    )


def _cure(found: outcome.AnyOutcome) -> str:
    missed = [
        _KEYS[failure.metric, failure.kind, failure.label is not None] for failure in found.failures
    ]
    names = " and ".join(f"`{key}`" for key in dict.fromkeys(missed))
    return f"Train longer or change the model or the data; or, if the model will do, relax {names}."
