"""Forecasters of series of numbers."""
