"""The version of simstore, and the mark of its files."""

__version__ = "0.1.0"
# SQLite's `application_id` of a store.
APPLICATION_ID = 0x53494D53  # "SIMS"
