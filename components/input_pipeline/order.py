"""The order in which examples are seen: a pure function of the seed and the global step.

The stream of examples is one pass over the data after another, each in an order of its own, cut
into batches without regard to where a pass ends. So every batch is full, nothing is ever left out,
each example comes once per pass, and step s is found without looking at the steps before it.

Legend: B global batch.
"""

import tensorflow as tf

# Keeps these draws apart from others that are made from the same seed.
_SHUFFLE_STREAM = 0x6F72646572
# Of the block cipher behind the permutation; the public operation has the same.
_ROUNDS = 4


def example_indices(
    step: tf.Tensor, *, global_batch_size: int, num_rows: int, seed: int
) -> tf.Tensor:
    """Returns which examples make up the global batch of a step.

    Args:
        step: Global step, an int64 scalar >= 0.
        global_batch_size: Examples per step over all replicas, > 0.
        num_rows: Number of examples, > 0.
        seed: Seed of the order, >= 0.

    Returns:
        int64 tensor of shape (B,), values in [0, num_rows).

    >>> first = example_indices(tf.constant(0, tf.int64), global_batch_size=3, num_rows=3, seed=1)
    >>> sorted(first.numpy().tolist())
    [0, 1, 2]
    """
    positions_B = step * global_batch_size + tf.range(global_batch_size, dtype=tf.int64)
    epochs_B = positions_B // num_rows
    constant = tf.constant([_SHUFFLE_STREAM, seed], tf.int64)
    seeds_B3 = tf.concat(
        [tf.tile(constant[None], [global_batch_size, 1]), epochs_B[:, None]], axis=1
    )
    # The public `index_shuffle` pads a batch of seeds along the wrong axis and fails.
    return tf.raw_ops.RandomIndexShuffle(
        index=positions_B % num_rows,
        seed=seeds_B3,
        max_index=tf.constant(num_rows - 1, tf.int64),
        rounds=_ROUNDS,
    )
