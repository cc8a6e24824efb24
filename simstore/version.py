"""The version of simstore."""

__version__ = "0.1.0"
