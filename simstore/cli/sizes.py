"""Sizes as they are written on the command line."""

from __future__ import annotations

from simstore.errors import InvalidParameter


def bands_of(text: str | None) -> tuple[int, int] | None:
    """Return bands and values a band of a text as ``32x4``; None where none is given.

    Raises:
        InvalidParameter: It is written otherwise.
    """
    if text is None:
        return None
    bands, cross, rows = text.strip().lower().partition("x")
    if not (text.isascii() and cross and bands.isdecimal() and rows.isdecimal()):
        raise InvalidParameter(f"--bands {text!r}: write them as 32x4")
    return int(bands), int(rows)
