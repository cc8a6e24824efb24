"""Names of the tables that come in families, for statements that are written as text.

What only needs a name imports no table, and with it none of SQLAlchemy.
"""

from __future__ import annotations


def width_suffix(bits: int) -> str:
    """Return the end of the names of the tables of one fingerprint width.

    Args:
        bits: Fingerprint length M.
    """
    return "64" if bits <= 64 else "128"


def tail_name(bits: int) -> str:
    """Return the name of the table of fingerprints that are in no page."""
    return f"fingerprint_{width_suffix(bits)}"


def kept_name(bits: int) -> str:
    """Return the name of the table of packed fingerprints with segment columns."""
    return f"packed_{tail_name(bits)}"


def gone_name(bits: int) -> str:
    """Return the name of the table of fingerprints that are in runs and were removed."""
    return f"gone_{tail_name(bits)}"


def links_name(bits: int) -> str:
    """Return the name of the table of which document has which fingerprint."""
    return f"document_{tail_name(bits)}"


# The tables of sketches, by the channel.
SKETCH_NAMES = {"minhash": "sketch", "characters": "character_sketch"}
