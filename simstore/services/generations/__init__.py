"""Rebuild all fingerprints after word counts have changed, and measure how far they have."""
