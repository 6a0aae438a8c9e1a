"""The engine process of `kerasline run`: runs the DAG with every import made once."""
