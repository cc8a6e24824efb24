"""Tokens to fingerprints: schemes, feature hashes, SimHash. Pure: arrays in, arrays out."""
