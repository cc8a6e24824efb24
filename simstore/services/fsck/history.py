"""Check what is kept of when documents were seen."""

from __future__ import annotations

from collections.abc import Iterator

from simstore.errors import printable
from simstore.model import Finding
from simstore.storage import history
from simstore.storage.engine import Connection
from simstore.text.decoding import exact_text

_REMEDY = "remove the document and ingest it again"


def check_history(connection: Connection, most: int) -> Iterator[Finding]:
    """Yield what contradicts itself in times, visits and earlier versions of documents.

    Args:
        connection: A snapshot.
        most: At most so many documents of a kind.
    """
    for key, problem in history.broken(connection, most):
        shown = printable(exact_text(key))
        yield Finding("history", f"{shown}: {problem}", _REMEDY)
