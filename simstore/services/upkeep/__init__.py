"""Upkeep: new stores, backups, packing, generations, and checks of every invariant."""
