"""Use cases and the boundary of transactions: one file a verb."""
