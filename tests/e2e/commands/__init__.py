"""Each command, as its users call it."""
