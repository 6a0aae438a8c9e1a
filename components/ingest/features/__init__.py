"""What examples hold: one module for each kind of feature."""
