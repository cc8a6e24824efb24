"""Removal of documents, by key or by expiry."""
