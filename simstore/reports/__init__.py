"""Matches to reports: ``result.txt``, tables, JSON Lines, CSV."""
