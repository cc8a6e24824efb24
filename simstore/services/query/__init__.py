"""Query: from samples to verified matches, channel by channel."""
