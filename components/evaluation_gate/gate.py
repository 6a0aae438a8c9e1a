"""Turns missed thresholds into a sentence."""

from components import gates
from components.evaluator import outcome

STEP = "evaluation_gate"
_MAX_FAILURES_SHOWN = 6


def check(found: outcome.EvaluationOutcome, class_names: tuple[str, ...]) -> None:
    """Refuses a model that missed a threshold.

    Args:
        found: What the evaluation found.
        class_names: The name of each class, by label.

    Raises:
        GateRefusedError: If the model is not blessed; the message names each metric and class, the
            value, what it should have been, by how much it is short, and what to do.
    """
    if found.blessed:
        return
    failures = [_describe(failure, class_names) for failure in found.failures]
    shown = "; ".join(failures[:_MAX_FAILURES_SHOWN])
    num_hidden = len(failures) - _MAX_FAILURES_SHOWN
    more = f"; and {num_hidden} more" if num_hidden > 0 else ""
    raise gates.GateRefusedError(
        STEP, f"The model is not good enough to publish: {shown}{more}. {_cure(found)}"
    )


def _describe(failure: outcome.Failure, class_names: tuple[str, ...]) -> str:
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


def _cure(found: outcome.EvaluationOutcome) -> str:
    keys = {
        ("value", False): "evaluation.min_accuracy",
        ("value", True): "evaluation.min_class_accuracy",
        ("change", False): "evaluation.max_accuracy_drop",
    }
    missed = [keys[failure.kind, failure.label is not None] for failure in found.failures]
    names = " and ".join(f"`{key}`" for key in dict.fromkeys(missed))
    return f"Train longer or change the model or the data; or, if the model will do, relax {names}."
