"""The gate that stops a run whose data cannot be learned from."""
