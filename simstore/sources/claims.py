"""Since when a record says that its document is there."""

from __future__ import annotations

from simstore.model import Document


def claim(document: Document, seen_at: int) -> tuple[int, str]:
    """Return since when a record says that its document is there, and by what it says so.

    A page that was published after it was seen was not.
    """
    published = document.published_at
    if published is not None and published <= seen_at:
        return published, "published"
    if document.seen_since is not None:
        return min(document.seen_since, seen_at), "crawl"
    return seen_at, "ingest" if document.seen_at is None else "crawl"
