"""Float32 copies of models that were trained in mixed precision."""

from typing import Any

import keras

_MIXED_POLICIES = ("mixed_float16", "mixed_bfloat16")


def to_float32(model: keras.Model) -> keras.Model:
    """Returns a model with the same weights that computes in float32 throughout.

    A served answer must not depend on the accelerator it was trained on, and half precision is
    slow on CPUs. Variables of a mixed-precision model are float32 already: nothing is lost.

    Args:
        model: A built Functional or Sequential model; its own layers must be registered with
            `keras.saving.register_keras_serializable`.

    Returns:
        `model` itself if no layer computes in mixed precision, else a copy.

    >>> policy = keras.DTypePolicy("mixed_bfloat16")
    >>> mixed = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, dtype=policy)])
    >>> to_float32(mixed).compute_dtype
    'float32'
    """
    config = model.get_config()
    float32_config = _with_float32_policies(config)
    if float32_config == config:
        return model
    copy = type(model).from_config(float32_config)
    copy.set_weights(model.get_weights())
    return copy


def _with_float32_policies(value: Any) -> Any:
    """Copies a config with every mixed policy in it, however deeply nested, made float32."""

    if isinstance(value, dict):
        if value.get("class_name") == "DTypePolicy" and value["config"]["name"] in _MIXED_POLICIES:
            return {**value, "config": {**value["config"], "name": "float32"}}
        return {key: _with_float32_policies(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_with_float32_policies(item) for item in value)
    return value
