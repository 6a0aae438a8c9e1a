"""The two ways to run a SavedModel's signatures: a v1 Session's callable, or TF2's own loader."""

import dataclasses
import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Literal, Protocol

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2

from serving.server import signature, tensorflow_import

Arrays = Mapping[str, np.ndarray]
Engine = Literal["auto", "session", "signature"]


@dataclasses.dataclass(frozen=True)
class Threads:
    """How many threads a session's graphs use; 0 leaves it to TensorFlow.

    `inter_op` may be negative: operations then run one after the other on the thread that calls.
    """

    intra_op: int = 0  # Within one operation.
    inter_op: int = 0  # Operations beside each other.


TENSORFLOWS_CHOICE = Threads()
# No operation is handed to another thread. On a small graph the hand-overs take longer than the
# work: a convolutional network of 90 us takes 280 us with TensorFlow's own choice on two CPUs.
CALLING_THREAD = Threads(intra_op=1, inter_op=-1)


class Backend(Protocol):
    """Runs signatures."""

    def make_runner(self, spec: signature.Signature) -> Callable[[Arrays], list[np.ndarray]]:
        """Returns the function from inputs by name to outputs in the signature's order."""

    def close(self) -> None:
        """Frees the model."""


class SessionBackend:
    """Runs signatures through a v1 Session, which skips the eager runtime."""

    def __init__(
        self,
        directory: pathlib.Path,
        meta_graph: meta_graph_pb2.MetaGraphDef,
        threads: Threads,
    ):
        """Loads a SavedModel; see `load`."""
        if not hasattr(tf.compat.v1.Session, "_make_callable_from_options"):
            raise NotImplementedError("This TensorFlow has no session callables.")
        # A TensorFlow without the C API that this needs is served through the signature.
        from serving.server import session_loading

        options = config_pb2.ConfigProto(
            intra_op_parallelism_threads=threads.intra_op,
            inter_op_parallelism_threads=threads.inter_op,
        )
        rewriting = options.graph_options.rewrite_options
        # The second pass takes a fifth of the time that a small network needs to be ready, and
        # found nothing more to improve there.
        rewriting.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.ONE
        # It goes through every function of the graph for each signature: a quarter of what is left
        # of that time, for graphs that then ran no faster.
        rewriting.disable_tfg_optimizer = True
        self._session = tf.compat.v1.Session(graph=tf.Graph(), config=options)
        session_loading.load(self._session, meta_graph, directory)

    def make_runner(self, spec: signature.Signature) -> Callable[[Arrays], list[np.ndarray]]:
        """Returns the function from inputs by name to outputs in the signature's order."""
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
        """Frees the model."""
        self._session.close()


class SignatureBackend:
    """Runs signatures through TF2's own loader: slower, and public API throughout."""

    def __init__(self, directory: pathlib.Path):
        """Loads a SavedModel; see `load`."""
        self._model = tf.saved_model.load(str(directory), tags=["serve"])

    def make_runner(self, spec: signature.Signature) -> Callable[[Arrays], list[np.ndarray]]:
        """Returns the function from inputs by name to outputs in the signature's order."""
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
        """Frees the model."""
        del self._model


def load(
    directory: pathlib.Path,
    meta_graph: meta_graph_pb2.MetaGraphDef,
    engine: Engine,
    threads: Threads,
) -> Backend:
    """Loads a SavedModel.

    Args:
        directory: A SavedModel folder.
        meta_graph: Its graph tagged `serve`.
        engine: `session`, `signature`, or `auto`: the first that works.
        threads: For sessions.

    Raises:
        ValueError, OSError or tf.errors.OpError: If the folder cannot be loaded.
    """
    if engine == "session":
        return SessionBackend(directory, meta_graph, threads)
    if engine == "signature":
        return SignatureBackend(directory)
    try:
        return SessionBackend(directory, meta_graph, threads)
    except (AttributeError, ImportError, NotImplementedError, RuntimeError, ValueError):
        # A TensorFlow without the callable, or a graph that only TF2's loader can restore.
        return SignatureBackend(directory)


def sessions_have_own_threads() -> bool:
    """Tells whether each session has threads of its own.

    If not, all of a process share those that the first session asked for, training included.
    """
    return os.environ.get(tensorflow_import.OWN_THREADS_VARIABLE) == "1"
