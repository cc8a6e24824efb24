"""Published algorithms that a plan of a query can name, for who compares them."""
