"""Where Kerasline runs: making the environment, checking it, and its fingerprint."""
