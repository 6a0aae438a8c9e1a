import os
import sys

import numpy as np
import pytest
from tensorflow.python.client import session

import serving.server
from serving.export import warmup
from serving.server import backends, loaded_model, tensorflow_import
from tests.serving import model_factory

ROW = np.array([[2.0]], np.float32)


@pytest.fixture
def own_threads(monkeypatch):
    monkeypatch.setenv(tensorflow_import.OWN_THREADS_VARIABLE, "1")


@pytest.fixture
def directory(tmp_path):
    model_factory.write_half_plus(tmp_path / "1", offset=1)
    return tmp_path / "1"


def load(directory, **options):
    model = loaded_model.LoadedModel(directory, loaded_model.LoadOptions(**options))
    assert model.run("serving_default", {"x": ROW})["y"].item() == 2.0
    return model


def write_warmup(directory):
    warmup.write_warmup(directory, [("serving_default", {"x": ROW})])


def test_small_model_runs_on_the_calling_thread(directory, own_threads):
    write_warmup(directory)
    assert load(directory).threads == backends.CALLING_THREAD


def test_model_that_takes_long_gets_tensorflows_choice(directory, own_threads, monkeypatch):
    write_warmup(directory)
    monkeypatch.setattr(loaded_model, "_MAX_ONE_THREAD_SECS", 0.0)
    assert load(directory).threads == backends.TENSORFLOWS_CHOICE


def test_model_without_warmup_records_gets_tensorflows_choice(directory, own_threads):
    assert load(directory).threads == backends.TENSORFLOWS_CHOICE


def test_threads_that_all_sessions_share_are_left_to_tensorflow(directory, monkeypatch):
    monkeypatch.delenv(tensorflow_import.OWN_THREADS_VARIABLE, raising=False)
    write_warmup(directory)
    assert load(directory).threads == backends.TENSORFLOWS_CHOICE


def test_chosen_threads_are_kept(directory, own_threads):
    write_warmup(directory)
    threads = backends.Threads(intra_op=2, inter_op=1)
    assert load(directory, threads=threads).threads == threads


@pytest.mark.parametrize("engine", ["session", "signature"])
def test_both_engines_give_the_same(directory, engine):
    load(directory, engine=engine)


@pytest.fixture(params=["no C API", "no session callables"])
def other_tensorflow(request, monkeypatch):
    """A TensorFlow without one of the parts that a session needs and that are not public.

    Returns:
        The error of a session.
    """
    if request.param == "no session callables":
        monkeypatch.delattr(session.BaseSession, "_make_callable_from_options")
        return NotImplementedError
    monkeypatch.setitem(sys.modules, "serving.server.session_loading", None)
    monkeypatch.delattr(serving.server, "session_loading", raising=False)
    return ImportError


def test_tensorflow_without_what_is_private_serves_through_the_signature(
    directory, other_tensorflow
):
    assert isinstance(load(directory)._backend, backends.SignatureBackend)


def test_session_is_not_replaced_where_it_was_asked_for(directory, other_tensorflow):
    with pytest.raises(other_tensorflow, match="session"):
        load(directory, engine="session")


def test_server_process_gives_sessions_their_own_threads(monkeypatch):
    monkeypatch.setenv(tensorflow_import.OWN_THREADS_VARIABLE, "0")
    monkeypatch.delenv(tensorflow_import.OWN_THREADS_VARIABLE)
    tensorflow_import.import_tensorflow()
    assert os.environ[tensorflow_import.OWN_THREADS_VARIABLE] == "1"
