"""Tests of pipeline/progress/."""
