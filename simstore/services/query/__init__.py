"""Query a store: from samples (query texts) to verified matches, channel by channel."""
