"""A peer of the serving benchmark: LitServe with dynamic batching.

python peer_litserve.py FOLDER/model/1 PORT
"""

import sys

import litserve
import numpy as np
import tensorflow as tf


class Api(litserve.LitAPI):
    """The SavedModel's signature behind LitServe's worker process."""

    def setup(self, device: str) -> None:
        """Loads the model in the worker."""
        self.serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]

    def decode_request(self, request: dict) -> np.ndarray:
        """Reads one image."""
        return np.array(request["instances"][0], np.float32)

    def batch(self, inputs: list[np.ndarray]) -> np.ndarray:
        """Joins images."""
        return np.stack(inputs)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Runs the graph."""
        return self.serve(image=tf.constant(inputs))["probabilities"].numpy()

    def unbatch(self, output: np.ndarray) -> list[np.ndarray]:
        """Splits rows."""
        return list(output)

    def encode_response(self, output: np.ndarray) -> dict:
        """Writes one row."""
        return {"predictions": [output.tolist()]}


if __name__ == "__main__":
    api = Api(max_batch_size=64, batch_timeout=0.002, api_path="/v1/models/conv:predict")
    server = litserve.LitServer(api, accelerator="cpu")
    server.run(
        host="127.0.0.1",
        port=int(sys.argv[2]),
        log_level="error",
        access_log=False,
        generate_client_file=False,
    )
