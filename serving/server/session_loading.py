"""Loads a SavedModel into a v1 session, without a Python object for each operation of its graph.

What `tf.compat.v1.saved_model.load` does in Python holds the interpreter for a while, and with it
the requests that are answered meanwhile by the version before: 60 ms of 80 on a small network.
Here the graph goes to TensorFlow's C API as it is in the file.
"""

import pathlib
from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2
from tensorflow.python.client import pywrap_tf_session as c_api

from serving.export import saved_model_file


def load(
    session: tf.compat.v1.Session, meta_graph: meta_graph_pb2.MetaGraphDef, directory: pathlib.Path
) -> None:
    """Imports a graph, restores its variables, and runs what initialises it.

    Args:
        session: Of an empty graph; its operations are then known by name only.
        meta_graph: The graph tagged `serve` of the SavedModel.
        directory: The SavedModel's folder.

    Raises:
        ValueError or tf.errors.OpError: If TensorFlow refuses the graph, or the files beside it.
    """
    _import_graph(session.graph, meta_graph.graph_def.SerializeToString())
    assets = _asset_files(meta_graph, directory)
    variables = directory / tf.saved_model.VARIABLES_DIRECTORY / tf.saved_model.VARIABLES_FILENAME
    # Whether there are variables is the graph's word: files that are missing are a copy cut short.
    if meta_graph.HasField("saver_def"):
        saver = meta_graph.saver_def
        feeds = {**assets, saver.filename_tensor_name: str(variables)}
        _run(session, saver.restore_op_name, feeds)
    initialiser = saved_model_file.init_operation(meta_graph)
    if initialiser:
        _run(session, initialiser, assets)


def _import_graph(graph: tf.Graph, serialized: bytes) -> None:
    options = c_api.TF_NewImportGraphDefOptions()
    buffer = c_api.TF_NewBufferFromString(serialized)
    try:
        with graph._c_graph.get() as c_graph:
            results = c_api.TF_GraphImportGraphDefWithResults(c_graph, buffer, options)
        c_api.TF_DeleteImportGraphDefResults(results)
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(str(error)) from error
    finally:
        c_api.TF_DeleteBuffer(buffer)
        c_api.TF_DeleteImportGraphDefOptions(options)


def _asset_files(
    meta_graph: meta_graph_pb2.MetaGraphDef, directory: pathlib.Path
) -> Mapping[str, str]:
    """Returns the file that each asset's tensor stands for."""
    assets = list(meta_graph.asset_file_def)
    if not assets:
        for packed in meta_graph.collection_def["saved_model_assets"].any_list.value:
            assets.append(meta_graph_pb2.AssetFileDef())
            packed.Unpack(assets[-1])
    folder = directory / tf.saved_model.ASSETS_DIRECTORY
    return {asset.tensor_info.name: str(folder / asset.filename) for asset in assets}


def _run(session: tf.compat.v1.Session, operation: str, feeds: Mapping[str, str]) -> None:
    options = config_pb2.CallableOptions(feed=list(feeds), target=[operation])
    call = session._make_callable_from_options(options)
    call(*[np.array(text.encode(), object) for text in feeds.values()])
