"""Short measurements before a long training: whether it learns, how fast, and in what space."""
