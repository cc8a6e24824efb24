"""simstore as its users meet it: real processes, real files, real kills."""
