"""Stored fingerprints: new ones as rows (the tail), packed ones in pages; look-ups in both."""
