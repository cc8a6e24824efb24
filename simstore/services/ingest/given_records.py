"""Validate many documents from a caller: documents, records, rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from simstore.errors import InvalidParameter
from simstore.model import Document, Rejection
from simstore.services.ingest.accept import accept
from simstore.sources.fields import KEY_FIELDS, TEXT_FIELDS, RecordFields, of_table, too_long
from simstore.sources.frames import as_table, present
from simstore.sources.reader import ReadOptions

_RECORDS = "records"


def documents_of(given: Iterable[Any], read: ReadOptions | None) -> Iterator[Document | Rejection]:
    """Return an iterator over the documents of what a caller gives.

    Args:
        given: Documents, (key, text) pairs and mappings, as for
            :func:`~simstore.services.ingest.accept.accept`; or a table, as for
            :func:`~simstore.sources.frames.as_table`, whose rows are records.
        read: How records are read; where it is given, mappings are records too. None: mappings
            are documents, and tables are read by the usual names.

    Raises:
        InvalidParameter: It holds no documents; a table has no column for the key or the text; or,
            while iterating, something that is no record or document is met.
    """
    table = as_table(given)
    if table is not None:
        options = read or ReadOptions()
        if table.names is not None:
            _check_columns(table.label, table.names, options)
        return _read(table.label, table.rows(), options)
    if isinstance(given, Mapping | str | bytes) or not isinstance(given, Iterable):
        raise InvalidParameter(
            f"{type(given).__name__} holds no documents; give a list of them, or a DataFrame"
        )
    if read is None:
        return map(accept, given)
    return _read(_RECORDS, map(_as_record, given), read)


def _check_columns(label: str, names: tuple[str, ...], options: ReadOptions) -> None:
    for what, chosen, usual in (
        ("key", options.key_field, KEY_FIELDS),
        ("text", options.text_field, TEXT_FIELDS),
    ):
        wanted = (chosen,) if chosen else usual
        # A column may hold an object.
        if not any(name in names or name.partition(".")[0] in names for name in wanted):
            raise InvalidParameter(
                f"{label}: no column is called {' or '.join(wanted)}; name the {what}'s: "
                f"read=ReadOptions({what}_field=...)"
            )


def _as_record(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidParameter(f"{type(given).__name__} is no record; give a mapping")
    return present((str(name), value) for name, value in given.items())


def _read(
    label: str, records: Iterable[dict[str, Any]], options: ReadOptions
) -> Iterator[Document | Rejection]:
    """Yield the document of each record; why there is none, where it cannot be used."""
    fields = RecordFields(
        label, options.key_field, options.text_field, options.history_fields, key_required=True
    )
    key_fields = (options.key_field,) if options.key_field else KEY_FIELDS
    for number, record in enumerate(records):
        for name in key_fields:
            # pandas makes floats of whole numbers where one of a column is missing.
            key = record.get(name)
            if isinstance(key, float) and key.is_integer():
                record[name] = int(key)
        made = fields.document(of_table(record.items()), number, 0, 0)
        if not isinstance(made, str):
            reason = too_long(made.text, options.max_document_bytes)
            if reason is None:
                # It comes from no source in which it could stand.
                yield replace(made, position=None, byte_offset=None, end_offset=None)
                continue
            made = reason
        yield Rejection(label, number, 0, 0, made)
