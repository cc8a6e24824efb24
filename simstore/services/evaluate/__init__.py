"""Evaluate what a store finds against labelled pairs."""
