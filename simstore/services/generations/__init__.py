"""Generations of fingerprints: rebuild them, and measure the drift of the vocabulary."""
