"""Rebuild all fingerprints with the present vocabulary, and measure how far it has drifted."""
