"""Query a store: find the stored documents similar to query texts (samples), and verify them."""
