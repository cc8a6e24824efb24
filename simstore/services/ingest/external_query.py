"""A source that reads the rows of an SQL query on another database as records."""

from __future__ import annotations

from collections.abc import Iterator

from simstore.model import SourceState
from simstore.sources.fields import RecordFields, check_columns
from simstore.sources.reader import ReadOptions
from simstore.sources.registry import reader_label
from simstore.sources.source import PlainSource, Record
from simstore.storage.external_query import ForeignQuery


class RowsSource(PlainSource):
    """Reads a query's rows, each a record; they are always read from the first.

    What the columns mean: :class:`~simstore.sources.fields.RecordFields`. Rows come in no order
    that lasts, so each needs a key.

    Args:
        place: A database URL, or the path of an SQLite file.
        statement: One statement that returns rows.
        options: How to read.

    Raises:
        InvalidParameter: The place or the statement is none that can be read, or no column holds a
            key or a text.
        SourceNotFound: There is no such SQLite file.
        UnreadableSource: The database cannot be reached, or refuses the query.
    """

    total_bytes = None
    bytes_read = 0

    def __init__(self, place: str, statement: str, options: ReadOptions) -> None:
        self._query = ForeignQuery(place, statement)
        self._options = options
        self.name = f"{self._query.label} {' '.join(statement.split())}"
        self._names = self._query.names()
        check_columns(
            "--sql", self._names, options, lambda what: f"name the {what}'s with --{what}-field"
        )

    def state(self) -> SourceState:
        """Return the state of the source, which holds only how it is read."""
        return SourceState(
            size=None, modified_ns=None, head_digest=b"", reader=reader_label("sql", self._options)
        )

    def records(self, position: int = 0, byte_offset: int = 0) -> Iterator[Record]:  # noqa: ARG002
        """Yield the records of the rows from ``position`` on."""
        fields = RecordFields(self.name, self._options, key_required=True)
        for number, row in enumerate(self._query.rows()):
            if number >= position:
                yield fields.row(zip(self._names, row, strict=True), number)
