"""The open store: its database, its scheme, its caches and its locks."""
