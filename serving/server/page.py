"""The page at `/`: models, versions, labels, a form for each signature, live numbers."""

import functools
import importlib.resources
import json
from typing import Any

import numpy as np

from serving.server import errors, manager, metrics, model_service, signature, versions

# The signatures that people ask most, in the order of the form.
_FIRST_SIGNATURES = ("serve_bytes", "serving_default")
# An example of more values than this is none that anybody would read or change.
_MAX_EXAMPLE_VALUES = 64


@functools.cache
def html() -> bytes:
    """Returns the page; it asks for everything else at `/page/script.js` and `/page/state`."""
    return _file("page.html")


@functools.cache
def script() -> bytes:
    """Returns the page's program."""
    return _file("page.js")


def _file(name: str) -> bytes:
    return importlib.resources.files("serving.server").joinpath(name).read_bytes()


def state(models: manager.Manager, counters: metrics.Metrics) -> bytes:
    """Returns what the page shows, as JSON."""
    described = [_describe(models, counters, name) for name in models.model_names]
    return model_service.to_json({"models": described})


def _describe(models: manager.Manager, counters: metrics.Metrics, name: str) -> dict[str, Any]:
    num_requests, total_micros = counters.totals(name)
    labels = models.labels(name)
    return {
        "name": name,
        "num_requests": num_requests,
        "total_micros": total_micros,
        "versions": [
            {
                "number": version.number,
                "state": version.state.name,
                "labels": sorted(
                    each for each, number in labels.items() if number == version.number
                ),
                "error": version.error.message if version.error else "",
            }
            for version in _versions(models, name)
        ],
        **_asked_version(models, name),
    }


def _versions(models: manager.Manager, name: str) -> list[versions.Version]:
    try:
        return models.statuses(name)
    except errors.ServingError:
        return []


def _asked_version(models: manager.Manager, name: str) -> dict[str, Any]:
    """Describes what the version takes and answers that is asked when no other is named."""
    if not models.has_available(name):
        return {"class_names": [], "signatures": []}
    version = models.find(name)
    found = [
        spec
        for spec in version.model.signatures.values()
        if spec.method_name == signature.PREDICT_METHOD
    ]
    return {
        "class_names": version.facts.get("class_names", []),
        "signatures": [
            {
                "name": spec.name,
                "inputs": [
                    {
                        "name": key,
                        "dtype": info.dtype_name,
                        "shape": signature.format_shape(info.shape),
                    }
                    for key, info in spec.inputs.items()
                ],
                "example": _example(version, spec.name),
            }
            for spec in sorted(found, key=_place)
        ],
    }


def _place(spec: signature.Signature) -> tuple[int, str]:
    names = _FIRST_SIGNATURES
    return (names.index(spec.name) if spec.name in names else len(names)), spec.name


def _example(version: versions.Version, signature_name: str) -> dict[str, str] | None:
    """Returns what to type for the first row of the first warm-up record; None if it is much."""
    name, inputs = version.model.sample or ("", {})
    size = sum(array.size for array in inputs.values())
    has_lists = any(array.dtype.hasobject and array.size != 1 for array in inputs.values())
    if name != signature_name or size > _MAX_EXAMPLE_VALUES or has_lists:
        return None
    return {key: _typed(array) for key, array in inputs.items()}


def _typed(array: np.ndarray) -> str:
    """Returns a value as it is typed: a text as it is, a single number bare, others as JSON.

    >>> _typed(np.float32([0.1])), _typed(np.array([[1, 2]])), _typed(np.array([b"a"], object))
    ('0.1', '[[1, 2]]', 'a')
    """
    if array.dtype.hasobject:
        return array.item().decode(errors="replace")
    if array.dtype.kind == "f":
        # By way of the shortest text, so that a float32 of 12.45 is not 12.449999809265137.
        array = array.astype(str).astype(float)
    value = array.tolist()
    return json.dumps(value[0] if array.shape == (1,) else value)
