"""Rows of people's own files, which are read, judged, and given back as they were."""
