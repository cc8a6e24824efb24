"""What there is to ask, a file a subject."""
