"""Search channels (such as SimHash and MinHash): stored data, packing, search and checks."""
