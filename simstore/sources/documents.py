"""Validate a document from outside, and return it as it will be stored.

Every way in goes by this: what a program gives, what a request brings, what a reader makes of a
file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simstore.errors import InvalidParameter, MalformedRequest, printable
from simstore.model import Document
from simstore.sources.dates import seconds
from simstore.sources.json_values import as_json
from simstore.text.decoding import encode, storable

Addable = Document | tuple[str, str] | Mapping[str, Any]

_FIELDS = (
    "key", "text", "title", "collection", "metadata", "seen_at", "published_at", "links",
    "seen_since",
)  # fmt: skip
_TIMES = ("seen_at", "published_at", "seen_since")


def accept(given: Addable, place: str = "") -> Document:
    """Return a document as it will be stored.

    Args:
        given: A document, a (key, text) pair, or a mapping with ``key`` and ``text`` and perhaps
            ``title``, ``collection``, ``metadata``, ``seen_at``, ``published_at``, ``links`` and
            ``seen_since``.
        place: Where it stands in a request, whose times may be ISO 8601; empty: in no request.

    Raises:
        InvalidParameter: It is none of these, or a field has another type, holds half a
            character (a lone surrogate), is a time out of range, or metadata that cannot be stored.
        MalformedRequest: The same, of what stands in a request.
    """
    document = _as_document(given)
    for name in ("key", "text", "title", "collection"):
        value = getattr(document, name)
        if value is None and name in ("title", "collection"):
            continue
        if not isinstance(value, str):
            kind = type(value).__name__
            raise InvalidParameter(f"the {name} of a document is a string, not {kind}")
        if not value.isascii():
            encode(value)
    if not isinstance(document.metadata, Mapping):
        kind = type(document.metadata).__name__
        raise InvalidParameter(f"the metadata of a document are a mapping, not {kind}")
    try:
        document = as_stored(document)
    except ValueError as error:
        if place:
            raise MalformedRequest(f"{place}.metadata", str(error)) from None
        raise InvalidParameter(
            f"the metadata of {printable(document.key)!r} cannot be stored ({error})"
        ) from None
    if document.links or any(getattr(document, name) is not None for name in _TIMES):
        document = _with_history(document, place)
    return document


def as_stored(document: Document) -> Document:
    """Return a document with title, collection and metadata as they come back from the store.

    Raises:
        ValueError: The metadata are no JSON values, or too much.
    """
    changed: dict[str, Any] = {
        name: stored
        for name in ("title", "collection")
        if (line := getattr(document, name)) is not None and (stored := storable(line)) != line
    }
    if document.metadata and (metadata := as_json(document.metadata)) is not document.metadata:
        changed["metadata"] = metadata
    return replace(document, **changed) if changed else document


def _with_history(document: Document, place: str) -> Document:
    """Return a document with its times in seconds; raise where a time or a link is none."""
    times: dict[str, Any] = {}
    for name in _TIMES:
        value = getattr(document, name)
        if value is None:
            continue
        if not place and (isinstance(value, bool) or not isinstance(value, int)):
            kind = type(value).__name__
            raise InvalidParameter(
                f"{name} of a document is a number of seconds since 1970, UTC, not {kind}"
            )
        try:
            whole = seconds(value)
        except (ValueError, OverflowError) as error:
            if place:
                raise MalformedRequest(f"{place}.{name}", str(error)) from None
            raise InvalidParameter(f"{name} of a document: {error}") from None
        if whole != value or type(value) is not int:
            times[name] = whole
    if not isinstance(document.links, tuple | list) or not all(
        isinstance(link, str) for link in document.links
    ):
        raise InvalidParameter("the links of a document are a list of keys, each a string")
    for link in document.links:
        encode(link)
    return replace(document, **times) if times else document


def _as_document(given: Addable) -> Document:
    if isinstance(given, Document):
        return given
    if isinstance(given, Mapping):
        for name in ("key", "text"):
            if name not in given:
                raise InvalidParameter(f"a mapping without {name!r}: it needs key and text")
        unknown = sorted(map(str, set(given).difference(_FIELDS)))
        if unknown:
            raise InvalidParameter(f"unknown fields {unknown}; put them into metadata")
        # What is empty, of any type, is as if it were not there.
        fields: dict[str, Any] = {"metadata": {}, "links": ()}
        fields |= {name: value for name, value in given.items() if value or name not in fields}
        return Document(**fields)
    if isinstance(given, tuple | list) and len(given) == 2:
        return Document(*given)
    raise InvalidParameter(
        f"{type(given).__name__} is no document; give (key, text), a mapping or a Document"
    )
