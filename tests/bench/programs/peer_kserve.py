"""A peer of the serving benchmark: KServe's Python model server, in its first protocol.

python peer_kserve.py FOLDER/model/1 PORT
"""

import sys

import kserve
import numpy as np
import tensorflow as tf


class Model(kserve.Model):
    """The SavedModel's signature."""

    def __init__(self) -> None:
        super().__init__("conv")
        self.serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
        self.ready = True

    def predict(self, payload: dict, headers: dict | None = None, **_: object) -> dict:
        """Answers one request."""
        outputs = self.serve(image=tf.constant(np.array(payload["instances"], np.float32)))
        return {"predictions": outputs["probabilities"].numpy().tolist()}


if __name__ == "__main__":
    server = kserve.ModelServer(
        http_port=int(sys.argv[2]), enable_grpc=False, access_log_format=None
    )
    server.start([Model()])
