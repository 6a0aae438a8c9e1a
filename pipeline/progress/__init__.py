"""Shows a run while it goes on: what runs, how long, rows, epochs and loss."""
