"""Fill a store of fingerprints without documents, and look up fingerprints again and again."""
