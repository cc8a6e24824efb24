"""Channels: what a store keeps for each, how it is packed, searched and checked."""
