"""A published SavedModel as the evaluation asks it.

Legend: B batch.
"""

import numpy as np
import tensorflow as tf


class SavedSignature:
    """One output of one signature, from serialized tf.Examples.

    Args:
        model_dir: Folder of the SavedModel.
        signature_name: A signature with one input, strings (B,).
        output_name: Which of its outputs.
    """

    def __init__(self, model_dir: str, *, signature_name: str, output_name: str):
        # The model owns its variables and tables: it must outlive the signature.
        self._model = tf.saved_model.load(model_dir)
        self._signature = self._model.signatures[signature_name]
        (self._input_name,) = self._signature.structured_input_signature[1]
        self._output_name = output_name

    def predict(self, examples_B: tf.Tensor) -> np.ndarray:
        """Returns the output for serialized examples (B,); its first axis is B."""
        return self._signature(**{self._input_name: examples_B})[self._output_name].numpy()
