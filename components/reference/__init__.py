"""A well-known simple learner on the same rows, beside which a network has to be worth its cost."""
