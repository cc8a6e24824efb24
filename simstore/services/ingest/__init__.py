"""Ingest: documents into a store, in batches, each checked for duplicates if asked to."""
