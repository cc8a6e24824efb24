"""Times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime


def time_text(seconds: int) -> str:
    """Return a time, in seconds since 1970-01-01 UTC, as ``2026-05-01 12:00:00 UTC``.

    What no calendar has is left in seconds.
    """
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s after 1970"
