"""Benchmarks: each prints ratios against a baseline that it runs beside itself; no test asserts a time."""
