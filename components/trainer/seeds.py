"""Seeds of random layers as a pure function of the seed, the step and the replica."""

import keras
import numpy as np
import tensorflow as tf

# A layer may draw this often in one step before it meets the next step's numbers.
_DRAWS_PER_STEP = 1 << 16


class LayerSeeds:
    """Sets the state of every seed generator of a model before each step.

    Keras gives each replica the same state, so that all drop the same units, and saves the state
    nowhere, so that a resumed run draws other masks than the uninterrupted one would have.

    Args:
        model: A built model.
        seed: Any integer; the recipe's seed.
    """

    def __init__(self, model: keras.Model, *, seed: int):
        self._states = [
            variable for variable in model.variables if "seed_generator" in variable.path
        ]
        # One independent key for each generator; also when two recipes' seeds differ by one.
        self._keys = np.random.SeedSequence(seed).generate_state(len(self._states), np.uint32)

    def set(self, *, step: tf.Tensor, replica: tf.Tensor | int) -> None:
        """Sets all states; call it in a replica's context, once per step.

        Args:
            step: Global step, counted from 0.
            replica: Index of the replica over all workers.
        """
        first_draw = tf.cast(step, tf.int64) * _DRAWS_PER_STEP
        # Keys are below 2**32, so that the replica has the bits above to itself.
        replica_bits = tf.cast(replica, tf.int64) * 2**32
        for state, key in zip(self._states, self._keys, strict=True):
            state.assign(tf.stack([replica_bits + tf.constant(int(key), tf.int64), first_draw]))
