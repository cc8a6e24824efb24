"""What differs between SQLite and PostgreSQL."""
