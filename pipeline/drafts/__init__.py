"""Drafts of recipes: what `kerasline init` writes for data and a machine that it looked at."""
