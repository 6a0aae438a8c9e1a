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


class Answers(Protocol):
    """What turns a model's outputs into answers."""

    # The signature of TF Serving's own method, which takes tf.Examples as `inputs`, and the name of
    # that method; no signature where no method fits.
    signature: str | None
    method: str
    # Objects that own tables, which must go along with the model.
    tracked: tuple[Any, ...]

    def answer(self, outputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Returns the outputs of the signatures."""

    def method_answer(self, answer: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Returns the outputs of the method's signature for what `answer` returned."""


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


def served_files(
    *,
    tensor: tf.TensorSpec,
    decode: Callable[[tf.Tensor], tf.Tensor],
    facts: Mapping[str, Any],
    example_help: str,
) -> ServedInput:
    """Serves what lies in files, such as images: as a tensor, as the files, and as tf.Examples.

    - `serving_default`: the tensor under its own name, such as `image`;
    - `serve_bytes`: `image_bytes`, string (B,), whole files;
    - `serve_examples`: tf.Examples with a bytes feature `image`.

    Args:
        tensor: What the model reads.
        decode: From whole files (B,) to the tensor.
        facts: As in `ServedInput`.
        example_help: As in `ServedInput`.
    """
    name, bytes_name = tensor.name, f"{tensor.name}_bytes"

    def parse(examples_B: tf.Tensor) -> tf.Tensor:
        features = {name: tf.io.FixedLenFeature((), tf.string)}
        return tf.io.parse_example(examples_B, features)[name]

    values = Entry(
        specs={name: tensor},
        to_inputs=lambda values: values[name],
        of_examples=lambda examples_B: {name: decode(parse(examples_B))},
    )
    files = Entry(
        specs={bytes_name: tf.TensorSpec((None,), tf.string, name=bytes_name)},
        to_inputs=lambda values: decode(values[bytes_name]),
        of_examples=lambda examples_B: {bytes_name: parse(examples_B)},
    )
    return ServedInput(
        entries={
            DEFAULT: values,
            "serve_bytes": files,
            EXAMPLES: examples_entry(lambda examples_B: decode(parse(examples_B))),
        },
        tracked=(),
        facts=facts,
        example_help=example_help,
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
