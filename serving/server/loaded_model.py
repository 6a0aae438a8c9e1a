"""A SavedModel in memory: loaded, warmed up, ready to run its signatures."""

import dataclasses
import itertools
import pathlib
import time
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow_serving.apis import prediction_log_pb2

from serving.export import saved_model_file, warmup
from serving.server import backends, errors, signature, tensor_codec

# A model whose row takes longer than this on one thread gets TensorFlow's own choice of threads: on
# two CPUs that is where it begins to be faster.
_MAX_ONE_THREAD_SECS = 0.0003
_NUM_TRIES = 3


@dataclasses.dataclass(frozen=True)
class LoadOptions:
    """How versions are loaded."""

    engine: backends.Engine = "auto"
    # None: the calling thread only for models whose warm-up shows that this is faster.
    threads: backends.Threads | None = None
    # Compare inputs with declared shapes in TF1 graphs too; those are often narrower than what the
    # graph accepts.
    check_tf1_shapes: bool = False
    warm_up: bool = True


class LoadedModel:
    """One version of a model, ready to run.

    A v1 Session callable is used if it can be made, because it takes 126 us for a call on a small
    convolutional network where the TF2 signature takes 483; `run` works the same through either.
    """

    def __init__(self, directory: pathlib.Path, options: LoadOptions):
        """Loads a SavedModel and replays its warm-up records.

        Args:
            directory: A SavedModel folder.
            options: How.

        Raises:
            ValueError, OSError or tf.errors.OpError: If the folder cannot be loaded, or a warm-up
                record does not fit the model.
        """
        self.directory = directory
        self.meta_graph = saved_model_file.read_serving_graph(directory)
        is_tf2 = bool(self.meta_graph.object_graph_def.nodes)
        self.signatures = {
            name: signature.from_signature_def(
                name,
                definition,
                _default_inputs(definition),
                is_shape_checked=is_tf2 or options.check_tf1_shapes,
            )
            for name, definition in saved_model_file.callable_signatures(self.meta_graph).items()
        }
        # The first warm-up record's signature and first row, if there is one.
        self.sample: tuple[str, backends.Arrays] | None = None
        self._options = options
        self._load(self._first_threads())
        if options.warm_up:
            self._warm_up()

    def run(self, signature_name: str, inputs: backends.Arrays) -> dict[str, np.ndarray]:
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

    def close(self) -> None:
        """Frees the model; no run may be in progress."""
        self._backend.close()

    def _first_threads(self) -> backends.Threads:
        if self._options.threads is not None:
            return self._options.threads
        can_measure = self._options.warm_up and (self.directory / warmup.WARMUP_PATH).exists()
        if can_measure and backends.sessions_have_own_threads():
            return backends.CALLING_THREAD
        return backends.TENSORFLOWS_CHOICE

    def _load(self, threads: backends.Threads) -> None:
        self.threads = threads
        self._backend = backends.load(
            self.directory, self.meta_graph, self._options.engine, threads
        )
        self._runners: dict[str, Callable[[backends.Arrays], list[np.ndarray]]] = {}

    def _warm_up(self) -> None:
        for count, record in enumerate(_warmup_requests(self.directory), start=1):
            try:
                name, inputs = self._read_record(record)
                self.run(name, inputs)
                if count == 1:
                    self.sample = name, self._first_row(name, inputs)
                if count == 1 and self._options.threads is None:
                    self._reconsider_threads(name, inputs)
            except errors.ServingError as error:
                raise ValueError(
                    f"Warm-up record {count} of {self.directory} failed: {error.message}"
                ) from error

    def _first_row(self, signature_name: str, inputs: backends.Arrays) -> backends.Arrays:
        if not self.signatures[signature_name].is_batchable:
            return inputs
        return {key: array[:1] for key, array in inputs.items()}

    def _reconsider_threads(self, signature_name: str, inputs: backends.Arrays) -> None:
        """Loads the model anew if a request takes long on one thread, each time that it is run."""
        num_rows = max((len(array) for array in inputs.values() if array.ndim), default=1)
        limit = _MAX_ONE_THREAD_SECS * max(num_rows, 1)
        times = (self._time(signature_name, inputs) for _ in range(_NUM_TRIES))
        if self.threads == backends.CALLING_THREAD and all(seconds > limit for seconds in times):
            self._backend.close()
            self._load(backends.TENSORFLOWS_CHOICE)
            self.run(signature_name, inputs)

    def _time(self, signature_name: str, inputs: backends.Arrays) -> float:
        start = time.perf_counter()
        self.run(signature_name, inputs)
        return time.perf_counter() - start

    def _read_record(
        self, log: prediction_log_pb2.PredictionLog
    ) -> tuple[str, dict[str, np.ndarray]]:
        """Returns the signature and the checked inputs of a warm-up record."""
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
        signature.check_input_names(spec, request.inputs.keys())
        inputs = {
            key: tensor_codec.decode(value, name=key) for key, value in request.inputs.items()
        }
        for key, array in inputs.items():
            signature.check_input(spec, key, array)
        return name, inputs


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
