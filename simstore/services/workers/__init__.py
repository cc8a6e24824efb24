"""Worker processes that share the work of a command."""
