"""Determine when a document was first seen, from its record's dates and from the stored ones."""

from __future__ import annotations

from simstore.model import FIRST_SEEN_BASES, Document

_STRENGTH = tuple(FIRST_SEEN_BASES).index
Sight = tuple[int, str]


def claim(document: Document, seen_at: int) -> tuple[int, str]:
    """Return the first-seen time by a record's own dates, and the kind of date it is.

    A page that was published after it was seen was not.
    """
    published = document.published_at
    if published is not None and published <= seen_at:
        return published, "published"
    if document.seen_since is not None:
        return min(document.seen_since, seen_at), "crawl"
    return seen_at, "ingest" if document.seen_at is None else "crawl"


def earlier(one: Sight, other: Sight) -> Sight:
    """Return the earlier of two first-seen times; of equal ones, that with the stronger basis."""
    return max(one, other, key=lambda sight: (-sight[0], _STRENGTH(sight[1])))


def first_sight(
    document: Document, now: int, stored: tuple[int, str, int] | None, skipped_since: int | None
) -> Sight:
    """Return when a document was first seen, once a record of it was read.

    Args:
        document: The record.
        now: The time, for a record without a date.
        stored: When its key was first seen, by what, and when it was last seen; None: it is new.
        skipped_since: Since when the key is known, where it was skipped as a duplicate; who said so
            is not known.

    Returns:
        The time, and by what it is known.
    """
    if stored is not None:
        first_seen, basis, last_seen = stored
        # A clock that was set back saw nothing earlier.
        seen_at = max(now, last_seen) if document.seen_at is None else document.seen_at
        return earlier((first_seen, basis), claim(document, seen_at))
    found = claim(document, now if document.seen_at is None else document.seen_at)
    if skipped_since is not None and skipped_since < found[0]:
        return skipped_since, "ingest" if document.seen_at is None else "crawl"
    return found
