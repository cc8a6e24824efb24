"""Statistics of a store: lists of documents, counts, and figures over time."""
