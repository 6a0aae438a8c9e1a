"""Turns a recipe and its surroundings into one fingerprint per step."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pipeline.config import Recipe, RunConfig
from pipeline.state import source_code, steps
from pipeline.state.request import StepFingerprint


def compute(
    recipe: Recipe,
    run_config: RunConfig,
    *,
    data_digest: str,
    environment: Mapping[str, str],
) -> dict[str, StepFingerprint]:
    """Computes what each step depends on.

    Args:
        recipe: The resolved recipe.
        run_config: Where it runs; only what changes results counts.
        data_digest: From `components.ingest.digest.source_digest`.
        environment: From `pipeline.environment.fingerprint.environment`.

    Returns:
        Step name -> fingerprint, in the order of the step table.
    """
    recipe_leaves = flatten(recipe.to_dict())
    run_values = run_config.to_dict()
    result: dict[str, StepFingerprint] = {}
    for step in steps.of(recipe.data.input_name):
        parts: dict[str, Any] = {
            "recipe": _below(recipe_leaves, step.recipe_keys),
            "run": {key: run_values[key] for key in step.run_keys},
            "code": source_code.digests(step.code, extra_files=steps.SHARED_CODE),
            "environment": dict(environment),
            "data": data_digest if step.reads_source else "",
        }
        upstream = {name: result[name].digest for name in step.upstream if name in result}
        result[step.name] = StepFingerprint(
            digest=_digest({**parts, "upstream": upstream}), **parts
        )
    return result


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Turns nested tables into dotted leaf keys.

    >>> flatten({"model": {"depth": 18}, "seed": 1})
    {'model.depth': 18, 'seed': 1}
    """
    leaves: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            leaves |= flatten(value, f"{prefix}{key}.")
        else:
            leaves[f"{prefix}{key}"] = value
    return leaves


def _below(leaves: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {
        leaf: value
        for leaf, value in leaves.items()
        if any(leaf == key or leaf.startswith(f"{key}.") for key in keys)
    }


def _digest(parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
