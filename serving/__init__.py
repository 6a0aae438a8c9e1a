"""Export of a trained model, and the servers and clients that answer with it."""
