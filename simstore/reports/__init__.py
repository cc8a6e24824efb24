"""Render results as reports: ``result.txt``, tables, JSON Lines, CSV, HTML."""
