"""The rows of a query to another database, as a source."""

from __future__ import annotations

from collections.abc import Iterator

from simstore.errors import InvalidParameter
from simstore.model import Rejection, SourceState
from simstore.sources.fields import KEY_FIELDS, TEXT_FIELDS, RecordFields, of_table, too_long
from simstore.sources.reader import ReadOptions
from simstore.sources.source import PlainSource, Record
from simstore.sources.stream_detection import reader_label
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
        for what, chosen, usual in (
            ("key", options.key_field, KEY_FIELDS),
            ("text", options.text_field, TEXT_FIELDS),
        ):
            wanted = (chosen,) if chosen else usual
            # A column may hold an object.
            if not any(name.partition(".")[0] in self._names for name in wanted):
                raise InvalidParameter(
                    f"--sql: no column is called {' or '.join(wanted)}; "
                    f"name the {what}'s with --{what}-field"
                )

    def state(self) -> SourceState:
        """Return what is known of it: how it is read."""
        return SourceState(
            size=None, modified_ns=None, head_digest=b"", reader=reader_label("sql", self._options)
        )

    def records(self, position: int = 0, byte_offset: int = 0) -> Iterator[Record]:  # noqa: ARG002
        """Yield the records of the rows from ``position`` on."""
        options = self._options
        fields = RecordFields(
            self.name,
            options.key_field,
            options.text_field,
            options.history_fields,
            key_required=True,
        )
        for number, row in enumerate(self._query.rows()):
            if number < position:
                continue
            cells = of_table(zip(self._names, row, strict=True))
            made = fields.document(cells, number, 0, 0)
            if not isinstance(made, str):
                reason = too_long(made.text, options.max_document_bytes)
                if reason is None:
                    yield made
                    continue
                made = reason
            yield Rejection(self.name, number, 0, 0, made)
