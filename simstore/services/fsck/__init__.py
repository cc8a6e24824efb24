"""Check every invariant of a store (fsck)."""
