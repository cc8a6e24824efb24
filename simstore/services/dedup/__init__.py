"""Files of rows without their near-duplicates."""
