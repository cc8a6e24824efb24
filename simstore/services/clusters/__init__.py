"""Clusters of near-duplicates: stars of verified edges, computed once or kept up to date."""
