"""Keras 3 models: a config union, a registry of Functional builders, and shared blocks."""
