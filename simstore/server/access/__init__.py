"""Access to a server: tokens, sessions, limits, and what protects browsers."""
