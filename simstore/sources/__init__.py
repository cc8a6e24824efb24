"""Read documents from files, folders and streams: a reader for each format, and a registry."""
