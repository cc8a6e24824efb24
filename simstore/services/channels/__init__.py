"""Search methods (channels: SimHash, MinHash): store, pack, search and check their data."""
