"""Parse and validate the documents in JSON request bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from simstore.errors import InvalidParameter, MalformedRequest, TooLarge
from simstore.model import Document
from simstore.sources.documents import accept
from simstore.wire import from_wire


@dataclass(frozen=True, slots=True)
class GivenDocument:
    """A document in a request.

    Attributes:
        key: Its key, not empty.
        text: Its text.
        title: Its title.
        collection: Name of the collection it belongs to.
        metadata: Further fields.
        seen_at: When it was seen: seconds since 1970, UTC, or ISO 8601; null: now.
        published_at: When it was published, likewise.
        links: Keys that it links to.
        seen_since: When it was first seen, where that was before.
    """

    key: str
    text: str
    title: str | None = None
    collection: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    seen_at: int | float | str | None = None
    published_at: int | float | str | None = None
    links: tuple[str, ...] = ()
    seen_since: int | float | str | None = None


def document_of(value: Any, place: str) -> Document:
    """Return the document of JSON values.

    Args:
        value: An object with the fields of :class:`GivenDocument`.
        place: Where it stands in the request.

    Raises:
        MalformedRequest: It is none.
    """
    try:
        given = from_wire(GivenDocument, value)
    except InvalidParameter as error:
        raise MalformedRequest(place, str(error)) from None
    return document_of_given(given, place)


def document_of_given(given: GivenDocument, place: str) -> Document:
    """Return the document that a request gives.

    Raises:
        MalformedRequest: A time is none, or the metadata are too much.
    """
    return accept({one.name: getattr(given, one.name) for one in fields(given)}, place)


def documents_of(value: Any, most: int) -> tuple[Document, ...]:
    """Return the documents of a body: one, or those of ``documents``.

    Raises:
        MalformedRequest: It is of another form.
        TooLarge: It has too many.
    """
    if not isinstance(value, dict):
        raise MalformedRequest("body", "an object is needed: a document, or {documents: [...]}")
    if "documents" not in value:
        return (document_of(value, "body"),)
    listed = value["documents"]
    if len(value) > 1 or not isinstance(listed, list):
        raise MalformedRequest("body", "beside documents, which are a list, nothing is taken")
    if len(listed) > most:
        raise TooLarge("documents of a request", most)
    return tuple(document_of(item, f"body.documents[{n}]") for n, item in enumerate(listed))
