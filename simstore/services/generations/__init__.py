"""Generations of fingerprints: refreshed, packed, compared with the vocabulary."""
