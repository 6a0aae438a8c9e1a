"""Networks that read texts as token numbers."""
