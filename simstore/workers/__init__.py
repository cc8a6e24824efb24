"""Worker processes: child processes that can be ended, for readers, shared work and the server."""
