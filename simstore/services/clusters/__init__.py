"""Clusters: stars of verified edges, made once or kept up to date."""
