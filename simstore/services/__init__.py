"""Use cases and the boundary of transactions: a folder a subject, a file a verb."""
