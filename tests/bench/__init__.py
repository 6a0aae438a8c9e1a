"""Benchmarks: each prints ratios against a baseline that runs beside it; no test asserts a time."""
