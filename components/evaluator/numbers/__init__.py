"""Evaluation of a model that predicts numbers, beside the simplest forecast there is."""
