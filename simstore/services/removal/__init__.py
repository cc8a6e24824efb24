"""Removal: documents that are deleted or expire."""
