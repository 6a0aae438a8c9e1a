"""Predict over REST: from a JSON body to a JSON body."""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np

from serving.server import (
    backends,
    calls,
    errors,
    inference,
    json_input,
    json_numbers,
    json_output,
    json_values,
    signature,
    versions,
)

# Above this, parsing is moved off the event loop, so that it does not hold up small requests.
_LARGE_BODY_BYTES = 256 * 1024

_Result = TypeVar("_Result")


class Predictor:
    """Answers `:predict`."""

    def __init__(self, engine: inference.Inference):
        self._engine = engine
        self._numbers = json_numbers.NumberReader()

    async def predict(self, call: calls.Call, body: bytes, deadline: float) -> bytes:
        """Returns the answer to a body, in the format that it is in.

        Raises:
            ServingError: If it cannot be answered.
        """
        engine = self._engine
        with engine.measured(call, "Predict"):
            is_large = len(body) > _LARGE_BODY_BYTES
            fast = None if is_large else self._numbers.read(body)
            document = None
            if fast is None:
                document = await _off_loop_if(is_large, lambda: json_input.parse_object(body))
                call = dataclasses.replace(call, signature_name=json_input.signature_name(document))
            with engine.use(call) as version:
                infos = _input_infos(version, call.signature_name)
                inputs = None if fast is None else _from_numbers(*fast, infos)
                is_row = True
                if inputs is None:
                    inputs, is_row = await self._inputs(document, infos, body)
                if is_row:
                    render = json_output.split_predictions
                    return await engine.predict_rendered(
                        call, version, inputs, render, deadline=deadline
                    )
                outputs = await engine.predict_arrays(call, version, inputs, deadline=deadline)
        return json_output.outputs_object(outputs)

    async def _inputs(
        self,
        document: Mapping | None,
        infos: Mapping[str, signature.TensorInfo],
        body: bytes,
    ) -> tuple[backends.Arrays, bool]:
        has_literals = b"true" in body or b"false" in body

        def convert() -> tuple[dict[str, np.ndarray], bool]:
            parsed = json_input.parse_object(body) if document is None else document
            return json_input.predict_inputs(parsed, infos, has_literals=has_literals)

        is_large = len(body) > _LARGE_BODY_BYTES
        inputs, is_row = await _off_loop_if(is_large, convert)
        if is_row and len(inputs) == 1 and not is_large:
            self._numbers.learn(body, next(iter(inputs.values())))
        return inputs, is_row


async def _off_loop_if(is_large: bool, work: Callable[[], _Result]) -> _Result:
    return await asyncio.to_thread(work) if is_large else work()


def _from_numbers(
    numbers: list[int | float], shape: tuple[int, ...], infos: Mapping[str, signature.TensorInfo]
) -> backends.Arrays | None:
    if len(infos) != 1:
        return None
    ((name, info),) = infos.items()
    array = json_values.convert_flat(numbers, info)
    return None if array is None else {name: array.reshape(shape)}


def _input_infos(version: versions.Version, name: str) -> Mapping[str, signature.TensorInfo]:
    name = name or calls.DEFAULT_SIGNATURE
    found = version.model.signatures.get(name)
    if found is None:
        raise errors.invalid(f'Serving signature name: "{name}" not found in signature def')
    if not found.inputs:
        raise errors.invalid(f"Failed to get input map for signature: {name}")
    return found.inputs
