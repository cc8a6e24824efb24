"""List a store's documents, and compute its statistics: counts, sizes and growth over time."""
