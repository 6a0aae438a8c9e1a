"""Random changes to training batches, each drawn from the seed and the global step alone."""
