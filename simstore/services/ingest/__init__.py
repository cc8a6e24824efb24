"""Ingest documents into a store in batches, with an optional check for duplicates."""
