"""Finding: from samples and fingerprints to matches, by both channels."""
