"""Models of recordings."""
