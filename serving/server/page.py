"""The page at `/`: models, versions, labels, a form for each signature, live numbers."""

import functools
import importlib.resources
from typing import Any

from serving.server import errors, manager, metrics, model_service, signature, versions


@functools.cache
def html() -> bytes:
    """Returns the page; it asks for everything else with `/page/state`."""
    return importlib.resources.files("serving.server").joinpath("page.html").read_bytes()


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
        "signatures": _signatures(models, name),
    }


def _versions(models: manager.Manager, name: str) -> list[versions.Version]:
    try:
        return models.statuses(name)
    except errors.ServingError:
        return []


def _signatures(models: manager.Manager, name: str) -> list[dict[str, Any]]:
    if not models.has_available(name):
        return []
    return [
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
        }
        for _, spec in sorted(models.find(name).model.signatures.items())
        if spec.method_name == signature.PREDICT_METHOD
    ]
