"""A peer of the serving benchmark: FastAPI in front of the SavedModel's own signature.

python peer_fastapi.py FOLDER/model/1 PORT
"""

import sys

import fastapi
import numpy as np
import tensorflow as tf
import uvicorn

app = fastapi.FastAPI()
serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]


@app.post("/v1/models/conv:predict")
def predict(body: dict) -> dict:
    """Answers one request, on one of FastAPI's threads."""
    outputs = serve(image=tf.constant(np.array(body["instances"], np.float32)))
    return {"predictions": outputs["probabilities"].numpy().tolist()}


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
