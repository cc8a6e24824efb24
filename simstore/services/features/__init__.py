"""Feature counts of documents, and corpus statistics of features (ranks, frequencies)."""
