"""Readers, one per kind of source; each yields blocks of rows."""
