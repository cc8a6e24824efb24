"""Worker processes, threads and queues of the server."""
