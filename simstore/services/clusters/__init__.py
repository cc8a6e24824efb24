"""Cluster near-duplicates: for one call, or stored in the database and kept up to date."""
