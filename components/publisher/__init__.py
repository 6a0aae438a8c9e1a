"""Publishes a blessed model atomically under an increasing version number."""
