"""The data guard: duplicates, leaks, wrong labels and shifts between splits stop a run."""
