"""Compare two texts by every algorithm of the field."""
