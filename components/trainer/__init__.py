"""Training: strategy, precision, optimizer, loop, callbacks and the TFX run function."""
