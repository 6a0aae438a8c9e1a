"""The curated schema of a recipe's examples."""
