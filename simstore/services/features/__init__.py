"""Feature counts of documents, and what a corpus tells of features."""
