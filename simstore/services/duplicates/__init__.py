"""Near-duplicates: verified edges from a text to stored documents, and recorded duplicates."""
