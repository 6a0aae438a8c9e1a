"""Functional blocks and layers that several architectures share."""
