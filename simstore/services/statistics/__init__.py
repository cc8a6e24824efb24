"""Statistics: what a store holds, in lists and in numbers."""
