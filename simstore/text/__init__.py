"""Text to tokens: decoding, normalization, words. Pure: no file, clock, database or logger."""
