"""Records of runs outside this machine or beside it: MLflow, and Weights & Biases."""
