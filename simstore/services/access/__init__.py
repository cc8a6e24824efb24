"""Manage the access tokens that clients of a store served over HTTP send with their requests."""
