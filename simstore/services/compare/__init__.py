"""Compare two texts by every similarity measure: digests, SimHash, MinHash, cosine and others."""
