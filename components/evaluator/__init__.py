"""Metrics, slices, baselines and the gate that blesses a model."""
