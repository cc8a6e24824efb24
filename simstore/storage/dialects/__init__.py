"""Database dialects: everything that differs between SQLite and PostgreSQL."""
