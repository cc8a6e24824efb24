"""Posting indexes: sorted keys in packed pages, written once for every look-up of a store."""
