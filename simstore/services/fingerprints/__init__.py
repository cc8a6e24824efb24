"""Fingerprints as data: stores without documents, and a reader for repeated look-ups."""
