"""Processes, threads and queues that do the work of a server."""
