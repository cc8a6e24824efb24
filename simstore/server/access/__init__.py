"""Access control of the server: tokens, sessions, rate limits and security headers."""
