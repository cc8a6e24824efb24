"""Dialects: statements that differ between SQLite and PostgreSQL."""
