"""Search fingerprints and sketches for near neighbours. Pure: arrays in, arrays out."""
