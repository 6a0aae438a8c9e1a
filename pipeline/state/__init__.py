"""What a run depends on and what came of it: fingerprints, requests, summaries, explanations."""
