"""Files, folders and streams to documents: one reader a file, one registry."""
