"""Architectures for feature vectors."""
