"""Duplicates: verified edges from a text to stored documents, and the duplicates on record."""
