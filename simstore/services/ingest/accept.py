"""Validate one document from a caller: a document, a pair or a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simstore.errors import InvalidParameter
from simstore.model import Document
from simstore.sources.dates import seconds
from simstore.text.decoding import encode

Addable = Document | tuple[str, str] | Mapping[str, Any]

_FIELDS = frozenset(
    (
        "key", "text", "title", "collection", "metadata", "seen_at", "published_at", "links",
        "seen_since",
    )
)  # fmt: skip
_TIMES = ("seen_at", "published_at", "seen_since")


def accept(given: Addable) -> Document:
    """Return a document.

    Args:
        given: A document, a (key, text) pair, or a mapping with ``key`` and ``text`` and perhaps
            ``title``, ``collection``, ``metadata``, ``seen_at``, ``published_at``, ``links`` and
            ``seen_since``.

    Raises:
        InvalidParameter: It is none of these, or a field has another type, holds half a
            character (a lone surrogate), or is a time out of range.
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
    if document.links or any(getattr(document, name) is not None for name in _TIMES):
        _check_history(document)
    return document


def _check_history(document: Document) -> None:
    """Raise InvalidParameter where a time or a link is none."""
    for name in _TIMES:
        value = getattr(document, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            kind = type(value).__name__
            raise InvalidParameter(
                f"{name} of a document is a number of seconds since 1970, UTC, not {kind}"
            )
        try:
            seconds(value)
        except ValueError as error:
            raise InvalidParameter(f"{name} of a document: {error}") from None
    if not isinstance(document.links, tuple | list) or not all(
        isinstance(link, str) for link in document.links
    ):
        raise InvalidParameter("the links of a document are a list of keys, each a string")
    for link in document.links:
        encode(link)


def _as_document(given: Addable) -> Document:
    if isinstance(given, Document):
        return given
    if isinstance(given, Mapping):
        for name in ("key", "text"):
            if name not in given:
                raise InvalidParameter(f"a mapping without {name!r}: it needs key and text")
        unknown = sorted(map(str, set(given) - _FIELDS))
        if unknown:
            raise InvalidParameter(f"unknown fields {unknown}; put them into metadata")
        return Document(
            given["key"],
            given["text"],
            title=given.get("title"),
            collection=given.get("collection"),
            metadata=given.get("metadata") or {},
            seen_at=given.get("seen_at"),
            published_at=given.get("published_at"),
            links=given.get("links") or (),
            seen_since=given.get("seen_since"),
        )
    if isinstance(given, tuple | list) and len(given) == 2:
        return Document(*given)
    raise InvalidParameter(
        f"{type(given).__name__} is no document; give (key, text), a mapping or a Document"
    )
