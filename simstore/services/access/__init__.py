"""Tokens of those who use a served store."""
