"""Remove documents, by key or by expiry."""
