"""Examples to batches: the one tf.data chain for training and the one for evaluation."""
