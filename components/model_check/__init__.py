"""Serves the exported model in a fresh process and compares it with Keras."""
