"""Read and write the forms of titles: which document has which (``fingerprint.titles``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.rows import count_rows, delete_in, insert_rows, numbers_after, select_in
from simstore.storage.tables.names import TITLES

_FOUND = f"form, document_id FROM {TITLES} WHERE scheme_id = ? AND form IN ({{}})"
_HELD = f"document_id, form FROM {TITLES} WHERE scheme_id = ? AND document_id IN ({{}})"


def put_many(connection: Connection, scheme_id: int, forms: Iterable[tuple[int, int]]) -> None:
    """Write forms of documents that have none by this scheme: (form, document)."""
    rows = [(scheme_id, *row) for row in sorted(forms)]
    insert_rows(connection, tables.title_form, ("scheme_id", "form", "document_id"), rows)


def drop_many(connection: Connection, document_ids: Sequence[int]) -> None:
    """Delete the forms of documents, by every scheme."""
    delete_in(connection, tables.title_form.c.document_id, document_ids)


def holders(connection: Connection, scheme_id: int, forms: Collection[int]) -> dict[int, list[int]]:
    """Return the documents that have each of some forms."""
    found: dict[int, list[int]] = {}
    rows = select_in(connection, f"SELECT {_FOUND}", sorted(forms), scheme_id)
    for form, number in rows:
        found.setdefault(form, []).append(number)
    return found


def of_documents(
    connection: Connection, scheme_id: int, document_ids: Sequence[int]
) -> dict[int, set[int]]:
    """Return the forms of documents that have some."""
    found: dict[int, set[int]] = {}
    rows = select_in(connection, f"SELECT {_HELD}", document_ids, scheme_id)
    for number, form in rows:
        found.setdefault(number, set()).add(form)
    return found


def count(connection: Connection, scheme_id: int) -> int:
    """Return the number of forms."""
    return count_rows(connection, tables.title_form, tables.title_form.c.scheme_id == scheme_id)


def drop_scheme_rows(connection: Connection, scheme_id: int, limit: int) -> bool:
    """Delete some ``limit`` forms of a scheme; return whether some may remain."""
    c = tables.title_form.c
    numbers = numbers_after(connection, c.document_id, -1, limit, c.scheme_id == scheme_id)
    if numbers:
        of_part = c.document_id <= numbers[-1]
        connection.execute(sql.delete(tables.title_form).where(c.scheme_id == scheme_id, of_part))
    return bool(numbers)
