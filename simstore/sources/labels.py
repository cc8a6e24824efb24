"""Read label files: pairs or groups of documents that people labelled as near-duplicates.

Pairs are lines of two keys, clusters are lines of a key and a group; both as tab-separated values
with or without a header, or as JSON Lines, plain or compressed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from simstore.errors import MalformedRecord
from simstore.sources.streams import ByteStream
from simstore.text.decoding import decode

_FIRST = ("a", "first", "key_a", "key1", "id1", "id_a")
_SECOND = ("b", "second", "key_b", "key2", "id2", "id_b")
_KEY = ("key", "id", "doc_id", "document")
_GROUP = ("group", "cluster", "label")
_LABEL = ("label", "duplicate", "is_duplicate")
_YES = ("1", "1.0", "true", "yes", "duplicate")
_NO = ("0", "0.0", "false", "no", "distinct")


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A labelled pair of documents.

    >>> alike = LabelledPair("ferry-2025", "ferry-2026")
    >>> distinct = LabelledPair("ferry-2025", "bread-1", duplicate=False)
    >>> store.evaluate.run(Labels(pairs=[alike, distinct])).pair_count
    1

    Attributes:
        duplicate: They are near-duplicates; False: they are not.
    """

    first: str
    second: str
    duplicate: bool = True


@dataclass(frozen=True, slots=True)
class GroupLabel:
    """The group of a document: near-duplicates of one another share it.

    >>> groups = {"ferry-2025": "a", "ferry-2026": "a", "bread-1": "b"}
    >>> labels = Labels(clusters=[GroupLabel(*one) for one in groups.items()])
    >>> store.evaluate.run(labels).pair_count
    1
    """

    key: str
    group: str


def read_pairs(name: str) -> list[LabelledPair]:
    """Read labelled pairs.

    The fields are ``a``, ``b``, perhaps ``label`` (1, true, yes, duplicate; 0, false, no,
    distinct); others are left aside. Without a header the
    first two fields are the keys, a third one the label; a file of more fields needs a header for
    what comes third to be a label.

    Args:
        name: Path of the file, or ``-``.

    Raises:
        SourceNotFound: There is no such file.
        MalformedRecord: A line is no labelled pair, or contradicts an earlier one.
    """
    pairs = []
    known: dict[frozenset[str], bool] = {}
    for number, record in _records(name, (_FIRST, _SECOND), ("a", "b", "label")):
        first, second = _needed(record, _FIRST), _needed(record, _SECOND)
        if first is None or second is None:
            raise MalformedRecord(
                name,
                number,
                "no pair: write two keys with a tab between them, or JSON with a and b",
            )
        label = _needed(record, _LABEL)
        if label is not None and label.lower() not in _YES + _NO:
            raise MalformedRecord(name, number, f"the label {label!r}: 1 or 0, true or false")
        duplicate = label is None or label.lower() in _YES
        if known.setdefault(frozenset((first, second)), duplicate) != duplicate:
            raise MalformedRecord(name, number, "an earlier line labels the same pair otherwise")
        pairs.append(LabelledPair(first, second, duplicate))
    return pairs


def read_clusters(name: str) -> list[GroupLabel]:
    """Read the groups of documents: the fields ``key`` and ``group``.

    Args:
        name: Path of the file, or ``-``.

    Raises:
        SourceNotFound: There is no such file.
        MalformedRecord: A line has no key or no group, or contradicts an earlier one.
    """
    labels = []
    known: dict[str, str] = {}
    for number, record in _records(name, (_KEY, _GROUP), ("key", "group")):
        key, group = _needed(record, _KEY), _needed(record, _GROUP)
        if key is None or group is None:
            raise MalformedRecord(
                name,
                number,
                "no label: write key and group with a tab between them, or JSON with both",
            )
        if known.setdefault(key, group) != group:
            raise MalformedRecord(
                name,
                number,
                "an earlier line puts this key into another group; are these pairs? then --pairs",
            )
        labels.append(GroupLabel(key, group))
    return labels


def _needed(record: Mapping[str, str], names: Sequence[str]) -> str | None:
    """Return the first of the fields that holds anything."""
    return next((record[name] for name in names if record.get(name)), None)


def _records(
    name: str, header: Sequence[Sequence[str]], columns: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each line, from 0, and its fields.

    Args:
        name: Path of the file, or ``-``.
        header: Names of which a header holds one each.
        columns: The fields of a file without a header.
    """
    names: Sequence[str] | None = None
    with ByteStream(name).open() as stream:
        for number, line in enumerate(stream):
            text = decode(line).rstrip("\r\n")
            if not text.strip():
                continue
            if text.lstrip().startswith("{"):
                yield number, _json_fields(name, number, text)
                continue
            fields = text.split("\t")
            if names is None:
                folded = [field.strip().lower() for field in fields]
                is_header = all(any(name in folded for name in some) for some in header)
                names = folded if is_header else columns
                if is_header:
                    continue
            record = dict(zip(names, fields, strict=False))
            if names is columns and len(fields) > len(columns):
                record.pop("label", None)
            yield number, record


def _json_fields(name: str, number: int, text: str) -> dict[str, str]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedRecord(name, number, f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise MalformedRecord(name, number, "a JSON value that is no object")
    shown = {}
    for field, value in record.items():
        if isinstance(value, bool | int | float | str):
            shown[str(field)] = str(value)
    return shown
