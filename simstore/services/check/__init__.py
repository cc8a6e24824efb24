"""Check submitted papers for text reuse: the passage index, and the search for copied passages."""
