"""Check and insert: verified edges, and what a new document duplicates."""
