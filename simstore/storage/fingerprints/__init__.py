"""Store fingerprints, as rows (the tail) or in compressed index pages, and look them up."""
