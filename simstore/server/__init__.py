"""The HTTP server of a store: its API and its web interface (the extra ``server``)."""
