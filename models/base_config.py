"""The base class of every config: frozen, strict, and without unknown keys."""

import json
from typing import Any, Self

import pydantic


class StrictConfig(pydantic.BaseModel):
    """A frozen config that refuses unknown keys and wrong types.

    `from_dict(to_dict(x)) == x` holds for every subclass, because both go through JSON: lists
    become tuples and integers become floats where the field says so, and nothing else is converted.
    """

    model_config = pydantic.ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False
    )

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Builds the config from plain data, such as a parsed TOML file.

        Raises:
            pydantic.ValidationError: If a key is unknown or missing, or a value is invalid.
        """
        return cls.model_validate_json(json.dumps(values))

    def to_dict(self) -> dict[str, Any]:
        """Returns the config as data that JSON and TOML hold; unset optional keys are left out."""
        return self.model_dump(mode="json", exclude_none=True)
