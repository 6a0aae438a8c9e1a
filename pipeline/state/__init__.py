"""What a run depends on and what came of it: step fingerprints, requests, summaries, explanations."""
