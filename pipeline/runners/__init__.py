"""Runners: where the DAG of `pipeline.dag` is executed."""
