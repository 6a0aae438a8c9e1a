"""The session's own loading, against TensorFlow's."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from serving.export import saved_model_file
from serving.server import session_loading

v1 = tf.compat.v1
WORDS = np.array([b"one", b"two", b"none"], object)


def write_tf1(directory, words_file, **initialiser):
    """Writes a graph with an asset, a table that is filled from it, and a variable."""
    with v1.Graph().as_default(), v1.Session() as session:
        asset = tf.constant(str(words_file))
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, asset)
        lines = v1.lookup.TextFileInitializer(
            asset, tf.string, v1.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
            v1.lookup.TextFileIndex.LINE_NUMBER,
        )  # fmt: skip
        table = v1.lookup.StaticHashTable(lines, -1)
        plus = v1.get_variable("plus", initializer=np.int64(10))
        words = v1.placeholder(tf.string, [None])
        info = v1.saved_model.utils.build_tensor_info
        signature = v1.saved_model.signature_def_utils.build_signature_def(
            {"words": info(words)}, {"ids": info(table.lookup(words) + plus)}
        )
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        builder = v1.saved_model.Builder(str(directory))
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            signature_def_map={"serving_default": signature},
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            **{name: v1.tables_initializer() for name in initialiser},
        )
        builder.save()


def write_tf2(directory, words_file):
    class Ids(tf.Module):
        def __init__(self):
            lines = tf.lookup.TextFileInitializer(
                str(words_file), tf.string, 0, tf.int64, 1, delimiter=","
            )
            self.table = tf.lookup.StaticHashTable(lines, -1)
            self.plus = tf.Variable(np.int64(10))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "words")])
        def serve(self, words):
            return {"ids": self.table.lookup(words) + self.plus}

    words_file.write_text("one,0\ntwo,1\n")
    module = Ids()
    tf.saved_model.save(module, str(directory), signatures=module.serve)


@pytest.fixture(params=["main_op", "legacy_init_op", "tf2"])
def directory(request, tmp_path):
    words_file = tmp_path / "words.txt"
    words_file.write_text("one\ntwo\n")
    if request.param == "tf2":
        write_tf2(tmp_path / "1", words_file)
    else:
        write_tf1(tmp_path / "1", words_file, **{request.param: True})
    # The asset must be found in the SavedModel, not where it came from.
    words_file.unlink()
    return tmp_path / "1"


def ask(session, graph):
    signature = graph.signature_def["serving_default"]
    options = config_pb2.CallableOptions(
        feed=[signature.inputs["words"].name], fetch=[signature.outputs["ids"].name]
    )
    return session._make_callable_from_options(options)(WORDS)[0].tolist()


def test_variables_assets_and_initialisers_are_restored_as_tensorflow_does(directory):
    with v1.Session(graph=v1.Graph()) as session:
        expected = ask(session, v1.saved_model.load(session, ["serve"], str(directory)))
    graph = saved_model_file.read_serving_graph(directory)
    with v1.Session(graph=v1.Graph()) as session:
        session_loading.load(session, graph, directory)
        assert ask(session, graph) == expected == [10, 11, 9]


def test_damaged_variables_are_refused(directory):
    (data,) = (directory / "variables").glob("*.data-*")
    data.write_bytes(data.read_bytes()[:3])
    graph = saved_model_file.read_serving_graph(directory)
    with v1.Session(graph=v1.Graph()) as session, pytest.raises(tf.errors.OpError):
        session_loading.load(session, graph, directory)


def test_graph_with_an_unknown_operation_is_refused(directory):
    graph = saved_model_file.read_serving_graph(directory)
    graph.graph_def.node.add(name="strange", op="NoSuchOperation")
    with (
        v1.Session(graph=v1.Graph()) as session,
        pytest.raises(tf.errors.NotFoundError, match="NoSuchOperation"),
    ):
        session_loading.load(session, graph, directory)
