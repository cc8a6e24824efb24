"""Passages: the index of anchors, and papers checked against it."""
