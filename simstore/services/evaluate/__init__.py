"""Evaluate a store's near-duplicate search against labelled pairs."""
