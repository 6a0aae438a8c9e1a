"""Keras model to versioned SavedModel: signatures, preprocessing and manifest."""
