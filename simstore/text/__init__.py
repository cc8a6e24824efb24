"""Split text into tokens: decode, normalize. Pure: no file, clock, database or logger."""
