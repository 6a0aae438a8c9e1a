"""Imports TensorFlow for a process that only runs SavedModels."""

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator

# TensorFlow reads it when it makes its first session: "1" gives each session threads of its own.
OWN_THREADS_VARIABLE = "TF_OVERRIDE_GLOBAL_THREADPOOL"


def import_tensorflow() -> None:
    """Imports TensorFlow without Keras, which `import tensorflow` otherwise loads too.

    TensorFlow imports Keras eagerly if it finds it, and does without if it does not. A server never
    needs it, and it is about a third of the start-up time. Keras can still be imported afterwards.
    Each session gets threads of its own, so that each model can have as many as suit it.
    """
    os.environ.setdefault(OWN_THREADS_VARIABLE, "1")
    if "tensorflow" in sys.modules or importlib.util.find_spec("keras") is None:
        importlib.import_module("tensorflow")
        return
    # None in sys.modules is Python's own way to say that a module cannot be imported.
    sys.modules["keras"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("tensorflow")
    finally:
        del sys.modules["keras"]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drops what TensorFlow's native code writes to standard error while it looks for devices.

    Its own TF_CPP_MIN_LOG_LEVEL does not silence what is logged before its logging is set up.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
