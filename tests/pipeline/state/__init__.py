"""Tests of pipeline/state/."""
