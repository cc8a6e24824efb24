"""The version of simstore, and the mark of its files."""

__version__ = "0.1.0"
# SQLite's `application_id` of a store: "SIM1", and "SIMS" of builds before 0.1.0.
APPLICATION_ID = 0x53494D31
EARLIER_APPLICATION_ID = 0x53494D53
