"""Export documents to a file."""
