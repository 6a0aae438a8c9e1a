"""Exports the convolutional network that the serving benchmark asks, and a request for it.

python -m tests.bench.programs.conv_net FOLDER --channels 8
"""

import argparse
import json
import pathlib

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

from models import config, inputs, registry
from models.blocks import heads
from serving.export import export

MODEL_NAME = "conv"
_NUM_CLASSES = 10
_SIDE_PX = 28


def write(folder: pathlib.Path, stage_channels: tuple[int, ...]) -> None:
    """Writes `model/1`, `rest.bin` (a JSON body) and `grpc.bin` (a PredictRequest), one image each.

    The weights are random: how long the graph takes does not depend on them.
    """
    cnn = config.CnnConfig(architecture="cnn", stage_channels=stage_channels)
    shape = (_SIDE_PX, _SIDE_PX, 1)
    pixels = inputs.ImageInput(height_px=_SIDE_PX, width_px=_SIDE_PX, channels=1)
    model = registry.build_model(cnn, inputs=pixels, head=heads.Classes(num_classes=_NUM_CLASSES))
    image_HW1 = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    export.export_model(
        model,
        folder / "model" / "1",
        class_names=[f"class {index}" for index in range(_NUM_CLASSES)],
        warmup_examples=[_example(image_HW1)] * 64,
    )
    body = json.dumps({"instances": [image_HW1.tolist()]}, separators=(",", ":"))
    (folder / "rest.bin").write_text(body)
    request = predict_pb2.PredictRequest()
    request.model_spec.name = MODEL_NAME
    pixels_BHW1 = image_HW1[np.newaxis].astype(np.float32)
    request.inputs["image"].CopyFrom(
        tf.compat.v1.make_tensor_proto(pixels_BHW1),
    )
    (folder / "grpc.bin").write_bytes(request.SerializeToString())


def _example(image_HW1: np.ndarray) -> bytes:
    png = tf.io.encode_png(image_HW1).numpy()
    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[png]))
    features = tf.train.Features(feature={"image": feature})
    return tf.train.Example(features=features).SerializeToString()


def main() -> None:
    """Parses the arguments and writes the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--channels", type=int, nargs="+", required=True)
    arguments = parser.parse_args()
    write(arguments.folder, tuple(arguments.channels))


if __name__ == "__main__":
    main()
