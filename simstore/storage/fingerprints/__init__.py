"""Fingerprints of generations: the tail, the pages of segments, and look-ups in both."""
