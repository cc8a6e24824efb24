"""Stored fingerprints of each generation: the tail table, segment pages and look-ups."""
