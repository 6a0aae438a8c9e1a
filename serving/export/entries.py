"""What a served model takes: for each signature its tensors, and how they become model inputs.

Axes: B batch.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import tensorflow as tf

Values = dict[str, tf.Tensor]

DEFAULT, EXAMPLES = "serving_default", "serve_examples"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """What one signature takes.

    Attributes:
        specs: The tensors by name; the first axis of each is the batch.
        to_inputs: From these tensors to what the model reads.
        of_examples: From serialized tf.Examples (B,) to what a client would send for them.
    """

    specs: Mapping[str, tf.TensorSpec]
    to_inputs: Callable[[Values], Any]
    of_examples: Callable[[tf.Tensor], Values]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServedInput:
    """All ways to ask a model.

    Attributes:
        entries: Signature name -> what it takes; `serve_examples` is one of them.
        tracked: Objects that own tables, which must go along with the model.
        facts: What the manifest says of the input, as JSON values.
        example_help: Ends "Each warm-up example must be a serialized tf.Example ".
    """

    entries: Mapping[str, Entry]
    tracked: tuple[Any, ...]
    facts: Mapping[str, Any]
    example_help: str


class Preprocess(Protocol):
    """What turns raw values into model inputs, the same in training and in serving."""

    specs: Mapping[str, tf.TensorSpec]

    def parse(self, examples_B: tf.Tensor) -> Values:
        """Finds the raw values in serialized tf.Examples."""

    def __call__(self, values: Values) -> Any:
        """Turns raw values into model inputs."""


def served_values(preprocess: Preprocess) -> ServedInput:
    """Serves raw values: `serving_default` takes each by its name, `serve_examples` tf.Examples.

    Args:
        preprocess: Its tables go along with the model.
    """
    names = ", ".join(repr(name) for name in preprocess.specs)
    return ServedInput(
        entries={
            DEFAULT: Entry(
                specs=preprocess.specs, to_inputs=preprocess, of_examples=preprocess.parse
            ),
            EXAMPLES: examples_entry(lambda examples_B: preprocess(preprocess.parse(examples_B))),
        },
        tracked=(preprocess,),
        facts={"inputs": {name: spec.dtype.name for name, spec in preprocess.specs.items()}},
        example_help=f"with the features {names}",
    )


def examples_entry(to_inputs: Callable[[tf.Tensor], Any]) -> Entry:
    """Takes `examples`, serialized tf.Examples (B,).

    Args:
        to_inputs: From the serialized examples to what the model reads.
    """
    return Entry(
        specs={"examples": tf.TensorSpec((None,), tf.string, name="examples")},
        to_inputs=lambda values: to_inputs(values["examples"]),
        of_examples=lambda examples_B: {"examples": examples_B},
    )
