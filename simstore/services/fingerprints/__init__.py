"""Stores of fingerprints alone (add, remove), and a reader for repeated fingerprint look-ups."""
