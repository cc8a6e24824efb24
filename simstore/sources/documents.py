"""Validate a document that a caller gives, and return it in its stored form.

Every way in goes by this: what a program gives, what a request brings, what a reader makes of a
file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isfinite
from numbers import Integral
from operator import attrgetter
from typing import Any, Protocol

from simstore.errors import InvalidParameter, MalformedRequest, printable
from simstore.model import LABELS, Document, DocumentKeywords, check_names
from simstore.model.times import seconds, time_given
from simstore.text.decoding import encode, storable, well_formed

# What one document may be given as.
Addable = Document | tuple[str | int, str] | Mapping[str, Any]


class PandasFrame(Protocol):
    """A DataFrame of pandas, or what has its methods."""

    @property
    def iloc(self) -> Any: ...  # noqa: D102
    @property
    def columns(self) -> Any: ...  # noqa: D102


class PolarsFrame(Protocol):
    """A DataFrame of polars, or what has its methods."""

    def iter_slices(self, n_rows: int = ...) -> Any: ...  # noqa: D102


class ArrowTable(Protocol):
    """A table, a batch or a reader of batches of PyArrow, or what has their methods."""

    @property
    def schema(self) -> Any: ...  # noqa: D102


class HuggingFaceDataset(Protocol):
    """A ``Dataset`` or an ``IterableDataset`` of Hugging Face, or what has their methods."""

    @property
    def column_names(self) -> Any: ...  # noqa: D102


TableLike = PandasFrame | PolarsFrame | ArrowTable | HuggingFaceDataset
# What many documents may be given as.
DocumentsGiven = Iterable[Addable] | Mapping[str, str] | TableLike
# What many samples may be given as.
SamplesGiven = Iterable[str | Addable] | Mapping[str, str] | TableLike

# Names of the fields of a record that hold its key and its text, the first that is there.
KEY_FIELDS = ("key", "id", "url", "doc_id")
TEXT_FIELDS = ("text", "content", "body")
_OTHER_FIELDS = (
    *LABELS, "metadata", "seen_at", "published_at", "links", "seen_since",
)  # fmt: skip
_KEYWORDS = frozenset(DocumentKeywords.__annotations__)
_TIMES = ("seen_at", "published_at", "seen_since")
_STRINGS = ("key", "text", *LABELS)
_strings_of, _times_of = attrgetter(*_STRINGS), attrgetter(*_TIMES)
_NO_TIMES = (None,) * len(_TIMES)
DEEPEST = 64
MOST_BYTES = 1 << 20
_JSON_TYPES = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string"}
TOO_DEEP = f"not usable: nested deeper than {DEEPEST} levels"
# Bytes of a character at most, as JSON, and of what stands around a value.
_OF_CHARACTER, _AROUND = 6, 16


def no_object(value: Any) -> str:
    """Return that a JSON value is no object, as a record has to be.

    >>> no_object(None), no_object(["Rye."])
    ('a JSON null, not an object', 'a JSON list, not an object')
    """
    return f"a JSON {_JSON_TYPES.get(type(value), 'list')}, not an object"


def accept(given: Addable, place: str = "") -> Document:
    """Return a document as it will be stored.

    Args:
        given: A document, a (key, text) pair, or a mapping with a key (one of
            :data:`KEY_FIELDS`), a text (one of :data:`TEXT_FIELDS`) and perhaps ``title``,
            ``collection``, ``metadata``, ``seen_at``, ``published_at``, ``links`` and
            ``seen_since``; its other fields are metadata. A key that is a whole number becomes
            its digits.
        place: Where it stands in a request; empty: in no request.

    Raises:
        InvalidParameter: It is none of these, or a field has another type, holds half a
            character (a lone surrogate), is a time out of range, or metadata that cannot be stored.
        MalformedRequest: The same, of what stands in a request.
    """
    document = _as_document(given)
    for name, value in zip(_STRINGS, _strings_of(document), strict=True):
        if value is None and name in LABELS:
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
    if document.links or _times_of(document) != _NO_TIMES:
        document = _with_history(document, place)
    return document


def document_with(verb: str, key: str, text: str, keywords: Mapping[str, Any]) -> Document:
    """Return the document that a method is given in keywords.

    Args:
        verb: The method, for messages.
        key: Its key.
        text: Its text.
        keywords: Some of :class:`~simstore.model.DocumentKeywords`.

    Raises:
        TypeError: A keyword is none of these; the message names the nearest one.
        InvalidParameter: A time is none.
    """
    check_names(verb, set(_KEYWORDS), keywords)
    said = dict(keywords) | {"metadata": keywords.get("metadata") or {}}
    for name in _TIMES:
        if said.get(name) is not None:
            said[name] = time_given(name, said[name])
    links = said.get("links", ())
    said["links"] = (links,) if isinstance(links, str) else tuple(links)
    return Document(key, text, **said)


def as_stored(document: Document) -> Document:
    """Return a document with its labels and metadata as they come back from the store.

    Raises:
        ValueError: The metadata are no JSON values, or too much.
    """
    changed: dict[str, Any] = {
        name: stored
        for name in LABELS
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
        return _of_record(given)
    if isinstance(given, tuple | list) and len(given) == 2:
        return Document(key_of(given[0]), given[1])
    if isinstance(given, str):
        raise InvalidParameter(
            "a text without a key is no document; give (key, text), as enumerate(texts) does"
        )
    raise InvalidParameter(
        f"{type(given).__name__} is no document; give (key, text), a mapping or a Document"
    )


def _of_record(given: Mapping[str, Any]) -> Document:
    names = [
        next((name for name in usual if given.get(name) is not None), None)
        for usual in (KEY_FIELDS, TEXT_FIELDS)
    ]
    key, text = names
    if key is None or text is None:
        what, usual = ("key", KEY_FIELDS) if key is None else ("text", TEXT_FIELDS)
        held = next((name for name in usual if name in given), None)
        if held is not None:
            raise InvalidParameter(f"the {what} of a document is a string, and {held!r} is None")
        raise InvalidParameter(
            f"a mapping without {what!r}: it needs a key and a text; name the field that holds "
            f"the {what} {', '.join(usual[:-1])} or {usual[-1]}, or give {what}_field=..."
        )
    # What is empty, of any type, is as if it were not there.
    fields: dict[str, Any] = {
        name: given[name]
        for name in _OTHER_FIELDS
        if given.get(name) is not None and (given[name] or name not in ("metadata", "links"))
    }
    rest = {name: given[name] for name in given if name not in (key, text, *_OTHER_FIELDS)}
    if rest and isinstance(fields.get("metadata", {}), Mapping):
        fields["metadata"] = {**rest, **fields.get("metadata", {})}
    return Document(key_of(given[key]), given[text], **fields)


def key_within(given: Any) -> Any:
    """Return the key of what may be a document; None: it has none that is seen."""
    if isinstance(given, Document):
        return given.key
    if isinstance(given, Mapping):
        return next((given[name] for name in KEY_FIELDS if given.get(name) is not None), None)
    return given[0] if isinstance(given, tuple | list) and len(given) == 2 else None


def key_of(given: Any) -> Any:
    """Return a key as it was given, or the digits of a whole number."""
    if isinstance(given, str | bool):
        return given
    return str(int(given)) if isinstance(given, Integral) else given


def keys_of(given: Iterable[str | Iterable[str]]) -> list[str]:
    """Return keys of which some may be given in lists.

    Raises:
        InvalidParameter: One is no string.
    """
    found: list[str] = []
    for one in given:
        if not isinstance(one, str) and not isinstance(one, Iterable):
            raise InvalidParameter(f"{type(one).__name__} is no key: a key is a string")
        found += [one] if isinstance(one, str) else one
    for key in found:
        if not isinstance(key, str):
            raise InvalidParameter(f"{type(key).__name__} is no key: a key is a string")
    return found


def json_value(value: Any, depth: int = 0) -> Any:
    """Return a JSON value without lone surrogates.

    Raises:
        ValueError: It is nested too deeply, or holds a number that JSON has no form for.
    """
    # What most values are first: this runs for each field of each record.
    if isinstance(value, str):
        return value if value.isascii() else well_formed(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, dict | list) and depth >= DEEPEST:
        raise ValueError(TOO_DEEP)
    if isinstance(value, dict):
        return {well_formed(name): json_value(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [json_value(item, depth + 1) for item in value]
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"not JSON: {value}")
    return value


def metadata_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a record as the metadata of a document.

    Raises:
        ValueError: They are more than metadata may be, or no JSON values.
    """
    made: dict[str, Any] = json_value(record)
    check_metadata(made)
    return made


def as_json(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return metadata as they come back from a store; the same object where that changes nothing.

    Raises:
        ValueError: They are more than metadata may be, or no JSON values.
    """
    if type(metadata) is dict and _is_surely_short(metadata):
        return metadata
    check_metadata(metadata)
    found: dict[str, Any] = json.loads(json.dumps(dict(metadata), allow_nan=False))
    return found


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Raise where metadata are more than a store keeps of a document, whoever gives them.

    They may be nested 64 levels deep, themselves the first, and 1 MiB long as JSON in UTF-8.

    Raises:
        ValueError: They are more, or no JSON values.
    """
    if _is_surely_short(metadata):
        return
    level: list[Any] = [metadata]
    for _ in range(DEEPEST):
        level = [
            item
            for value in level
            for item in (value.values() if isinstance(value, Mapping) else value)
            if isinstance(item, Mapping | list | tuple)
        ]
        if not level:
            break
    else:
        raise ValueError(TOO_DEEP)
    try:
        text = json.dumps(dict(metadata), ensure_ascii=False, separators=(",", ":"))
    except TypeError as error:
        raise ValueError(str(error)) from None
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    if size > MOST_BYTES:
        raise ValueError(
            f"the metadata have {size:,} bytes as JSON, more than the limit of {MOST_BYTES:,}"
        )


def _is_surely_short(metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata hold no other values, and cannot be too long; most are such."""
    size = 0
    for name, value in metadata.items():
        if type(value) is str:
            size += len(value)
        elif not (value is None or type(value) is bool or _is_plain_number(value)):
            return False
        size += len(name) + _AROUND if type(name) is str else MOST_BYTES
    return _OF_CHARACTER * size <= MOST_BYTES


def _is_plain_number(value: Any) -> bool:
    if type(value) is float:
        return isfinite(value)
    return type(value) is int and value.bit_length() <= 64
