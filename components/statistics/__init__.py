"""Statistics of each split, computed by TensorFlow Data Validation."""
