"""Facts about the source of a copy: its title, author, date and address."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from simstore.storage import documents
from simstore.storage.connection import Connection
from simstore.text.decoding import exact_text

# Names of metadata, the first that a document has. Options of `ingest` name others.
AUTHOR_FIELDS = ("author", "authors", "byline", "creator")
DATE_FIELDS = ("date", "published", "published_at", "publication_date", "pubdate", "created")
URL_FIELDS = ("url", "link", "canonical")
_ADDRESS = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)
_BETWEEN_AUTHORS = re.compile(r"\s*(?:[,;&、，；]|\band\b|\bund\b|\bet\b)\s*", re.IGNORECASE)
_LONGEST = 500
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """Facts about a source, as far as its document tells them.

    Attributes:
        title: Its title.
        collection: The collection that it belongs to.
        author: Who wrote it; several with commas between.
        date: When it was published.
        url: Its address.
    """

    title: str | None = None
    collection: str | None = None
    author: str | None = None
    date: str | None = None
    url: str | None = None

    def is_by(self, names: frozenset[str]) -> bool:
        """Return whether one of these wrote it.

        Args:
            names: Names of authors, as :func:`folded_name` makes them.
        """
        if self.author is None:
            return False
        parts = _BETWEEN_AUTHORS.split(self.author)
        return not names.isdisjoint(map(folded_name, (self.author, *parts)))


def facts_of(
    key: str,
    title: str | None,
    collection: str | None,
    metadata: Mapping[str, Any],
    published_at: int | None,
) -> SourceFacts:
    """Return what a stored document tells of itself.

    Args:
        key: Its key, which may be its address.
        title: Its title.
        collection: Its collection.
        metadata: Its metadata.
        published_at: When it was published, in seconds since 1970-01-01 UTC, where that is known.
    """
    date = _first(metadata, DATE_FIELDS)
    if published_at is not None and "date" not in metadata:
        date = (_BEGINNING + timedelta(seconds=published_at)).date().isoformat()
    return SourceFacts(
        title=title,
        collection=collection,
        author=_first(metadata, AUTHOR_FIELDS),
        date=date,
        url=key if _ADDRESS.fullmatch(key) else _first(metadata, URL_FIELDS),
    )


def stored_facts(connection: Connection, document_ids: Sequence[int]) -> dict[int, SourceFacts]:
    """Return what stored documents tell of themselves; nothing of those that are gone."""
    found = documents.descriptions_of(connection, document_ids)
    return {
        number: facts_of(exact_text(bytes(key)), title, collection, metadata, published_at)
        for number, (key, title, collection, metadata, published_at) in found.items()
    }


def folded_name(name: str) -> str:
    """Return a name without case and superfluous blanks, to compare it."""
    return " ".join(name.casefold().split())


def _first(metadata: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first field that says something, as a line."""
    for name in names:
        value = metadata.get(name)
        values = value if isinstance(value, list) else [value]
        said = [_line(one) for one in values]
        if any(said):
            return ", ".join(filter(None, said))[:_LONGEST]
    return None


def _line(value: Any) -> str:
    """Return a value of metadata as a line; of an object, its name."""
    if isinstance(value, Mapping):
        value = value.get("name")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).split())
