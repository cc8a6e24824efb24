"""Hold a store open: its database connections, settings, locks and in-memory caches."""
