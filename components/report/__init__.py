"""The model card and the HTML report of a run."""
