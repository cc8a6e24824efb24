"""Check papers: the passage index, and the passages of a paper that stored documents have."""
