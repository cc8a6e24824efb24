"""Stores of fingerprints alone: add, remove, read."""
