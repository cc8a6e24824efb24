"""Maintenance: create, copy, compact, upgrade and reindex a store."""
