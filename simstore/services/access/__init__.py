"""Access tokens for the clients of a served store."""
