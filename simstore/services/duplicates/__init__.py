"""Find and verify the stored near-duplicates of a text; list the duplicates on record."""
