"""What arrives: documents and records, batches of them, and what becomes of each."""
