"""The gate that stops a run whose model misses its thresholds."""
