"""Recipes that come with Kerasline, one TOML file each."""
