"""Fingerprints to neighbours: segments, plans, Hamming distance. Pure: arrays in, arrays out."""
