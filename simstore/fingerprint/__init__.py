"""Compute fingerprints and sketches (SimHash, MinHash). Pure: arrays in, arrays out."""
