"""Reads a SavedModel's signatures from its file, without loading the model."""

import pathlib
from collections.abc import Mapping

import tensorflow as tf
from google.protobuf import message
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

# The loader's own bookkeeping, not something to call.
_INIT_SIGNATURE = "__saved_model_init_op"
# Where TF1 keeps the same, the newer first.
_INIT_COLLECTIONS = ("saved_model_main_op", "legacy_init_op")


def read_signatures(model_dir: pathlib.Path) -> Mapping[str, meta_graph_pb2.SignatureDef]:
    """Returns the signatures by name of the graph tagged `serve`.

    Raises:
        ValueError: If the folder holds no SavedModel, or none with the tag `serve`.
    """
    return callable_signatures(read_serving_graph(model_dir))


def callable_signatures(
    graph: meta_graph_pb2.MetaGraphDef,
) -> Mapping[str, meta_graph_pb2.SignatureDef]:
    """Returns the signatures of a graph that a client may call."""
    return {
        name: signature
        for name, signature in graph.signature_def.items()
        if name != _INIT_SIGNATURE
    }


def init_operation(graph: meta_graph_pb2.MetaGraphDef) -> str:
    """Returns the name of the operation to run once after loading; empty if there is none."""
    if _INIT_SIGNATURE in graph.signature_def:
        return graph.signature_def[_INIT_SIGNATURE].outputs[_INIT_SIGNATURE].name
    for key in _INIT_COLLECTIONS:
        if key in graph.collection_def:
            return graph.collection_def[key].node_list.value[0]
    return ""


def set_method_name(model_dir: pathlib.Path, signature_name: str, method_name: str) -> None:
    """Changes what kind of request a signature answers, such as `tensorflow/serving/classify`.

    Raises:
        KeyError: If the model has no such signature.
    """
    path = model_dir / "saved_model.pb"
    saved_model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    (graph,) = saved_model.meta_graphs
    if signature_name not in graph.signature_def:
        raise KeyError(signature_name)
    graph.signature_def[signature_name].method_name = method_name
    path.write_bytes(saved_model.SerializeToString())


def tensor_spec(info: meta_graph_pb2.TensorInfo) -> tf.TensorSpec:
    """Returns the shape and dtype that a signature declares for one tensor."""
    return tf.TensorSpec(tf.TensorShape(info.tensor_shape), tf.as_dtype(info.dtype))


def read_serving_graph(model_dir: pathlib.Path) -> meta_graph_pb2.MetaGraphDef:
    """Returns the graph tagged `serve`.

    Raises:
        ValueError: If the folder holds no SavedModel, or none with the tag `serve`.
    """
    path = model_dir / "saved_model.pb"
    try:
        saved_model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    except (OSError, message.DecodeError) as error:
        raise ValueError(
            f"A SavedModel folder must hold a readable saved_model.pb. Received: path={path}, "
            f"error={error}."
        ) from error
    for graph in saved_model.meta_graphs:
        if "serve" in graph.meta_info_def.tags:
            return graph
    tags = [sorted(graph.meta_info_def.tags) for graph in saved_model.meta_graphs]
    raise ValueError(
        f"A SavedModel must hold a graph tagged 'serve'. Received: path={path}, tags={tags}."
    )
