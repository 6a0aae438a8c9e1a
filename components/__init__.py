"""The steps of a pipeline, one folder each: ingest to report."""
