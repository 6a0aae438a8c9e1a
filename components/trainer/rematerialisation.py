"""Rematerialisation: a block's inside is computed again for its gradient instead of being kept.

Only what passes from block to block stays in memory between the forward and the backward pass
(Chen et al. 2016, https://arxiv.org/abs/1604.06174). It costs about one more forward pass.
"""

from typing import Any

import keras
import tensorflow as tf

from components.trainer import model_blocks


class Rematerialised:
    """Computes the same as a model, block by block, with less memory for the gradient.

    Batch normalisations update their averages once, and dropout draws the same mask both times,
    because a block is computed as a pure function of its inputs, weights and state.

    Args:
        model: A built Functional model; freeze its layers first.

    Raises:
        ValueError: If there is no place to cut the model.
    """

    def __init__(self, model: keras.Model):
        self._output = model.output
        self._fixed, blocks = model_blocks.cut(model)
        self._fixed_network = keras.Model(model.input, self._fixed)
        self._networks = [
            (block, keras.Model([*block.entry, *block.fixed], list(block.exits)))
            for block in blocks
        ]

    def __call__(self, inputs: Any, training: bool = False) -> Any:
        """Returns what the model returns."""
        fixed = self._fixed_network(inputs, training=training)
        values = dict(zip(map(id, self._fixed), keras.tree.flatten(fixed), strict=True))
        for block, network in self._networks:
            entry = [values[id(tensor)] for tensor in block.entry]
            fixed = [values[id(tensor)] for tensor in block.fixed]
            if block.is_last:
                # Its gradient comes first, so that nothing would be gained.
                exits = network(_as_inputs([*entry, *fixed]), training=training)
            else:
                exits = _run_twice(network, entry, fixed, training)
            values.update(zip(map(id, block.exits), keras.tree.flatten(exits), strict=True))
        flat = [values[id(tensor)] for tensor in keras.tree.flatten(self._output)]
        return keras.tree.pack_sequence_as(self._output, flat)


def _run_twice(
    network: keras.Model, entry: list[tf.Tensor], fixed: list[tf.Tensor], training: bool
) -> list[tf.Tensor]:
    weights = [tf.convert_to_tensor(v.value) for v in network.trainable_variables]
    state = [tf.convert_to_tensor(v.value) for v in network.non_trainable_variables]
    states_after = []

    def forward(*tensors: tf.Tensor) -> list[tf.Tensor]:
        inputs = _as_inputs([*tensors[: len(entry)], *fixed])
        outputs, after = network.stateless_call(
            tensors[len(entry) :], state, inputs, training=training
        )
        states_after.append(after)
        return outputs

    outputs = tf.recompute_grad(forward)(*entry, *weights)
    # Of the first pass alone: the second must not move an average or a seed once more.
    for variable, before, after in zip(
        network.non_trainable_variables, state, states_after[0], strict=True
    ):
        if after is not before:
            variable.assign(after)
    return outputs


def _as_inputs(tensors: list[tf.Tensor]) -> Any:
    # Keras takes the list of one input for the input.
    return tensors if len(tensors) > 1 else tensors[0]
