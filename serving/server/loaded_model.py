"""A SavedModel in memory, and the callables that run its signatures."""

import itertools
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, Protocol

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2
from tensorflow_serving.apis import prediction_log_pb2

from serving.export import saved_model_file, warmup
from serving.server import errors, signature, tensor_codec

Arrays = Mapping[str, np.ndarray]
Engine = Literal["auto", "session", "signature"]


class Backend(Protocol):
    """Runs signatures; made by `_SessionBackend` or `_SignatureBackend`."""

    def make_runner(self, spec: signature.Signature) -> Callable[[Arrays], list[np.ndarray]]:
        """Returns the function from inputs by name to outputs in the signature's order."""

    def close(self) -> None:
        """Frees the model."""


class LoadedModel:
    """One version of a model, ready to run.

    A v1 Session callable is used if it can be made, because it takes 126 us for a call on a small
    convolutional network where the TF2 signature takes 483; `run` works the same through either.
    """

    def __init__(self, directory: pathlib.Path, *, engine: Engine, check_tf1_shapes: bool):
        """Loads a SavedModel.

        Args:
            directory: A SavedModel folder.
            engine: `session`, `signature`, or `auto`: the first that works.
            check_tf1_shapes: Compare inputs with declared shapes in TF1 graphs too; their declared
                shapes are often narrower than what the graph accepts.

        Raises:
            ValueError, OSError or tf.errors.OpError: If the folder cannot be loaded.
        """
        self.directory = directory
        self.meta_graph = saved_model_file.read_serving_graph(directory)
        is_tf2 = bool(self.meta_graph.object_graph_def.nodes)
        self.signatures = {
            name: signature.from_signature_def(
                name,
                definition,
                _default_inputs(definition),
                is_shape_checked=is_tf2 or check_tf1_shapes,
            )
            for name, definition in saved_model_file.callable_signatures(self.meta_graph).items()
        }
        self._backend = _load_backend(directory, engine)
        self._runners: dict[str, Callable[[Arrays], list[np.ndarray]]] = {}

    def run(self, signature_name: str, inputs: Arrays) -> dict[str, np.ndarray]:
        """Runs a signature on checked inputs.

        Returns:
            Arrays by output name, in the order of the names.

        Raises:
            ServingError: With TensorFlow's own code, if the graph refuses the values.
        """
        spec = self.signatures[signature_name]
        runner = self._runners.get(signature_name)
        if runner is None:
            runner = self._runners.setdefault(signature_name, self._backend.make_runner(spec))
        try:
            outputs = runner({**spec.default_inputs, **inputs})
        except tf.errors.OpError as error:
            raise errors.ServingError(_code(error), _first_line(error.message)) from error
        except (ValueError, TypeError) as error:
            # What the session refuses before it runs, such as a shape it knows to be impossible.
            raise errors.invalid(_first_line(str(error))) from error
        return dict(zip(spec.outputs, outputs, strict=True))

    def warm_up(self) -> int:
        """Replays the warm-up records, if there are any, and returns how many.

        Raises:
            ValueError: If a record cannot be read or replayed: the model does not fit its records.
        """
        count = 0
        for count, record in enumerate(_warmup_requests(self.directory), start=1):
            try:
                self._replay(record)
            except errors.ServingError as error:
                raise ValueError(
                    f"Warm-up record {count} of {self.directory} failed: {error.message}"
                ) from error
        return count

    def close(self) -> None:
        """Frees the model; no run may be in progress."""
        self._backend.close()

    def _replay(self, log: prediction_log_pb2.PredictionLog) -> None:
        if log.WhichOneof("log_type") != "predict_log":
            raise errors.ServingError(
                errors.Code.UNIMPLEMENTED,
                f"Only predict_log records are replayed. Received: {log.WhichOneof('log_type')}.",
            )
        request = log.predict_log.request
        name = request.model_spec.signature_name or "serving_default"
        if name not in self.signatures:
            raise errors.invalid(f'Serving signature key "{name}" not found.')
        spec = self.signatures[name]
        signature.check_input_names(spec, request.inputs)
        inputs = {
            key: tensor_codec.decode(value, name=key) for key, value in request.inputs.items()
        }
        for key, array in inputs.items():
            signature.check_input(spec, key, array)
        self.run(name, inputs)


class _SessionBackend:
    """Runs signatures through a v1 Session, which skips the eager runtime."""

    def __init__(self, directory: pathlib.Path):
        if not hasattr(tf.compat.v1.Session, "_make_callable_from_options"):
            raise NotImplementedError("This TensorFlow has no session callables.")
        self._graph = tf.Graph()
        self._session = tf.compat.v1.Session(graph=self._graph)
        with self._graph.as_default():
            tf.compat.v1.saved_model.load(self._session, ["serve"], str(directory))

    def make_runner(self, spec: signature.Signature) -> Callable[[Arrays], list[np.ndarray]]:
        names = list(spec.inputs)
        options = config_pb2.CallableOptions(
            feed=[info.graph_name for info in spec.inputs.values()],
            fetch=[info.graph_name for info in spec.outputs.values()],
        )
        # The public `make_callable` compares shapes with the declared ones, which TF1 graphs
        # contradict: TensorFlow Serving's own tests feed [3] to an input declared [-1, 1].
        call = self._session._make_callable_from_options(options)
        return lambda inputs: call(*[inputs[name] for name in names])

    def close(self) -> None:
        self._session.close()


class _SignatureBackend:
    """Runs signatures through TF2's own loader: slower, and public API throughout."""

    def __init__(self, directory: pathlib.Path):
        self._model = tf.saved_model.load(str(directory), tags=["serve"])

    def make_runner(self, spec: signature.Signature) -> Callable[[Arrays], list[np.ndarray]]:
        function = self._model.signatures[spec.name]

        def run(inputs: Arrays) -> list[np.ndarray]:
            tensors = {
                name: tf.constant(inputs[name], info.dtype_number)
                for name, info in spec.inputs.items()
            }
            outputs = function(**tensors)
            return [outputs[name].numpy() for name in spec.outputs]

        return run

    def close(self) -> None:
        del self._model


def _load_backend(directory: pathlib.Path, engine: Engine) -> Backend:
    if engine == "session":
        return _SessionBackend(directory)
    if engine == "signature":
        return _SignatureBackend(directory)
    try:
        return _SessionBackend(directory)
    except (AttributeError, NotImplementedError, RuntimeError, ValueError):
        # A TensorFlow without the callable, or a graph that only TF2's loader can restore.
        return _SignatureBackend(directory)


def _default_inputs(definition: meta_graph_pb2.SignatureDef) -> dict[str, np.ndarray]:
    return {
        name: tensor_codec.decode(value, name=name) for name, value in definition.defaults.items()
    }


def _warmup_requests(directory: pathlib.Path) -> Iterator[prediction_log_pb2.PredictionLog]:
    path = directory / warmup.WARMUP_PATH
    if not path.exists():
        return
    records = tf.compat.v1.io.tf_record_iterator(str(path))
    for number, record in enumerate(itertools.islice(records, warmup.MAX_RECORDS + 1), start=1):
        if number > warmup.MAX_RECORDS:
            raise ValueError(
                f"There must be at most {warmup.MAX_RECORDS} warm-up records. Received: "
                f"path={path}."
            )
        yield prediction_log_pb2.PredictionLog.FromString(record)


def _code(error: tf.errors.OpError) -> errors.Code:
    known = error.error_code in set(errors.Code)
    return errors.Code(error.error_code) if known else errors.Code.UNKNOWN


def _first_line(message: str) -> str:
    """Drops the node names and Python stack that TensorFlow appends."""
    return message.strip().split("\n", 1)[0]
