"""Count the features of documents, and read their corpus statistics (ranks, frequencies)."""
