"""Keep the runs and rows of posting indexes in the tables ``index_run`` and ``index_page``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from simstore.index.cache import Cache
from simstore.index.filters import Filters
from simstore.index.pages import PLACE_BITS, DamagedPage, Shape
from simstore.index.postings import Kind, PostingIndex, Row, Run
from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.damage import corrupt
from simstore.storage.rows import chunks, execute, fetch, insert_one, insert_rows

# The numbers of its rows, and of the first row behind them, are to be 64-bit integers.
LARGEST_RUN = (1 << (63 - PLACE_BITS)) - 2
# Rows that are read at a time.
_READ_ROWS = 512
_FEW_PAGES = 32
_MAPPED_BYTES = 1 << 40
_WORD_BYTES = 8
# A range of pages is read whole if at least one in so many of them is wanted.
_WHOLE_SHARE = 3
_RUNS = (
    "SELECT run_id, page_bits, widths, row_bytes, entry_count, last_source, filter_words, checksum "
    "FROM index_run WHERE kind = ? AND owner = ? ORDER BY run_id"
)
_BETWEEN = "SELECT page, entries FROM index_page WHERE page >= ? AND page < ? ORDER BY page"


class _Held(NamedTuple):
    """The runs of one index, with the pages of their filters that this process has read."""

    runs: list[Run]
    filters: Filters

    @property
    def memory_bytes(self) -> int:
        """Bytes of the filters, if all of their pages are read."""
        return _WORD_BYTES * sum(run.filter_words for run in self.runs)


class StoredPages:
    """The runs of one kind and owner in one transaction.

    Args:
        connection: The transaction.
        kind: The kind.
        owner: The generation, scheme or passage index.
        cache: Keeps the runs and their filters; None: they are read again.
    """

    def __init__(
        self, connection: Connection, kind: Kind, owner: int, cache: Cache | None = None
    ) -> None:
        self._connection = connection
        self._kind = kind
        self._owner = owner
        self._cache = Cache(0) if cache is None else cache
        self._held: _Held | None = None

    def runs(self) -> Sequence[Run]:
        """Return the runs, the oldest first.

        Raises:
            CorruptStore: A row says what no run is.
        """
        return self._current().runs

    def _current(self) -> _Held:
        if self._held is None:
            rows = fetch(self._connection, _RUNS, self._kind.name, self._owner)
            name = "runs", self._kind.name, self._owner
            self._held = self._cache.get(name, rows) or self._read(name, rows)
        return self._held

    def _read(self, name: tuple[str, str, int], rows: list[tuple[Any, ...]]) -> _Held:
        """Cache the runs of these rows; a run that was cached keeps its filter pages."""
        runs, before = list(map(self._run, rows)), self._cache.latest(name)
        made = _Held(runs, Filters([run.filter_words for run in runs]))
        if before is not None:
            places = {run.number: place for place, run in enumerate(before.runs)}
            made.filters.take_over(before.filters, [places.get(run.number, -1) for run in runs])
        held: _Held = self._cache.put(name, rows, made)
        return held

    def _run(self, row: tuple[Any, ...]) -> Run:
        number, page_bits, widths, row_bytes, count, last, words, checksum = row
        try:
            shape = Shape(self._kind.key_bits, page_bits, tuple(widths), row_bytes)
            is_possible = (
                shape.is_possible
                and shape.page_bits <= self._kind.page_bits
                and len(shape.widths) == self._kind.value_count
                and 0 < number <= LARGEST_RUN
                and min(count, words) >= 0
                and bool(words) == self._kind.is_filtered
            )
        except TypeError:
            is_possible = False
        if not is_possible:
            reason = f"run {number} of the index {self._kind.name} is damaged"
            raise corrupt(self._connection, reason)
        return Run(number, shape, count, last, words, checksum)

    def add_run(self, run: Run) -> Run:
        """Write a run; return it with its number."""
        values = {
            "kind": self._kind.name,
            "owner": self._owner,
            "page_bits": run.shape.page_bits,
            "widths": bytes(run.shape.widths),
            "row_bytes": run.shape.row_bytes,
            "entry_count": run.count,
            "last_source": run.last,
            "filter_words": run.filter_words,
            "checksum": run.checksum,
        }
        self._held = None
        return replace(run, number=insert_one(self._connection, tables.index_run, values))

    def set_totals(self, run: Run) -> None:
        """Write the count and the checksum of a run."""
        statement = "UPDATE index_run SET entry_count = ?, checksum = ? WHERE run_id = ?"
        execute(self._connection, statement, run.count, run.checksum, run.number)
        self._held = None

    def drop_run(self, run: Run) -> None:
        """Delete a run and what is left of its rows."""
        self.delete_between(run, 0, 1 << PLACE_BITS)
        execute(self._connection, "DELETE FROM index_run WHERE run_id = ?", run.number)
        self._held = None

    def read(self, run: Run, places: Sequence[int]) -> list[Row]:
        """Return the rows at some ascending places that are there, ascending."""
        base = run.number << PLACE_BITS
        found = rows_at(self._connection, [base + place for place in places])
        return [(number - base, row) for number, row in found]

    def read_each(self, wanted: Sequence[tuple[Run, int]]) -> list[bytes | None]:
        """Return the row at each place of a run, None where there is none; few statements."""
        numbers = [run.number << PLACE_BITS | place for run, place in wanted]
        found: dict[int, bytes] = dict(rows_at(self._connection, sorted(set(numbers))))
        return [found.get(number) for number in numbers]

    def read_between(self, run: Run, first: int, end: int) -> list[Row]:
        """Return the rows at ``first <= place < end``, ascending."""
        base = run.number << PLACE_BITS
        rows = _rows(self._connection, _BETWEEN, base + first, base + end)
        return [(number - base, row) for number, row in rows]

    def write(self, run: Run, rows: Sequence[Row]) -> None:
        """Write rows, ascending."""
        base = run.number << PLACE_BITS
        made = [(base + place, row) for place, row in rows]
        if made:
            insert_rows(self._connection, tables.index_page, ("page", "entries"), made)

    def delete_between(self, run: Run, first: int, end: int) -> None:
        """Delete the rows at ``first <= place < end``."""
        base = run.number << PLACE_BITS
        statement = "DELETE FROM index_page WHERE page >= ? AND page < ?"
        execute(self._connection, statement, base + first, base + end)

    def filters(self) -> Filters:
        """Return the filters of the runs, with the pages that were read before."""
        return self._current().filters

    def damaged(self, error: DamagedPage) -> Exception:
        """Return the error to raise where a row is damaged."""
        return corrupt(self._connection, f"a page of the index {self._kind.name}: {error}")


def rows_at(connection: Connection, numbers: Sequence[int]) -> list[Row]:
    """Return the rows with some ascending numbers in the table that are there, ascending.

    A number is that of a run, then 40 bits of the place within it.
    """
    found: list[Row] = []
    for part in chunks(numbers, _READ_ROWS):
        if len(part) == _READ_ROWS:
            step = min(two - one for one, two in pairwise(part))
            if part[-1] - part[0] <= _WHOLE_SHARE * step * len(part):
                wanted = set(part)
                rows = _rows(connection, _BETWEEN, part[0], part[-1] + 1)
                found += [row for row in rows if row[0] in wanted]
                continue
        found += _rows(connection, _listed(len(part)), *part)
    return found


def map_file(connection: Connection) -> None:
    """Read the file of a store through a map from now on: a row then costs half the time."""
    if connection.is_sqlite:
        connection.driver.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}").fetchall()


def pages_at(connection: Connection, numbers: Sequence[int]) -> list[Row]:
    """Return all rows of pages of at most 16 bits that are there, ascending.

    Args:
        connection: The transaction.
        numbers: Of the first row of each page, ascending.
    """
    if len(numbers) <= _FEW_PAGES and connection.is_sqlite:
        return _rows(connection, _ranges(len(numbers)), *numbers)
    found: list[Row] = []
    for part in chunks(numbers, _READ_ROWS):
        found += _rows(connection, _joined_ranges(len(part), connection.is_sqlite), *part)
    return found


@cache
def _listed(count: int) -> str:
    marks = ", ".join("?" * count)
    return f"SELECT page, entries FROM index_page WHERE page IN ({marks}) ORDER BY page"  # noqa: S608 - marks


# The last row of a page of at most 16 bits, from its first.
_SPAN = (1 << (PLACE_BITS - 1 - 16)) - 1


@cache
def _ranges(count: int) -> str:
    # Ascending as what is asked for.
    return " UNION ALL ".join(
        f"SELECT page, entries FROM index_page WHERE page BETWEEN ?{n} AND ?{n} + {_SPAN}"  # noqa: S608 - numbers
        for n in range(1, count + 1)
    )


@cache
def _joined_ranges(count: int, is_sqlite: bool) -> str:
    # SQLite goes through the list in its order.
    order = "" if is_sqlite else " ORDER BY page"
    marks = ", ".join(["(CAST(? AS bigint))"] * count)
    return (
        f"WITH asked(first) AS (VALUES {marks}) SELECT page, entries FROM asked "  # noqa: S608 - numbers
        f"CROSS JOIN index_page WHERE page BETWEEN first AND first + {_SPAN}{order}"
    )


def _rows(connection: Connection, statement: str, *parameters: int) -> list[Row]:
    if not connection.is_sqlite:
        return fetch(connection, statement, *parameters)
    # Two plain values a row: the driver need not look at their types.
    cursor = connection.driver.cursor()
    cursor.row_factory = None
    rows: list[Row] = cursor.execute(statement, parameters).fetchall()
    return rows


def stored_index(
    connection: Connection, kind: Kind, owner: int, cache: Cache | None = None
) -> PostingIndex:
    """Return an index as a transaction sees it.

    Args:
        connection: A snapshot, or a writer.
        kind: Its kind.
        owner: The generation, scheme or passage index that it is of.
        cache: Keeps the runs and their filters; None: they are read again.
    """
    return PostingIndex(kind, StoredPages(connection, kind, owner, cache))


def kinds(connection: Connection, prefix: str, owner: int) -> list[str]:
    """Return the kinds of an owner's runs whose names begin with a prefix."""
    statement = "SELECT DISTINCT kind FROM index_run WHERE owner = ? ORDER BY kind"
    return [kind for (kind,) in fetch(connection, statement, owner) if kind.startswith(prefix)]


def drop(connection: Connection, kind: str, owner: int, limit: int | None = None) -> bool:
    """Delete the runs of an index, and up to ``limit`` of their rows, or all.

    Returns:
        Whether some rows remain.
    """
    rows = fetch(
        connection, "SELECT run_id FROM index_run WHERE kind = ? AND owner = ?", kind, owner
    )
    c = tables.index_page.c.page
    for (number,) in rows:
        of_run = (c >= number << PLACE_BITS, c < (number + 1) << PLACE_BITS)
        if limit is not None:
            statement = sql.select(c).where(*of_run).order_by(c).limit(1).offset(limit)
            last = connection.execute(statement).scalar_one_or_none()
            if last is not None:
                connection.execute(sql.delete(tables.index_page).where(of_run[0], c < last))
                return True
        connection.execute(sql.delete(tables.index_page).where(*of_run))
        execute(connection, "DELETE FROM index_run WHERE run_id = ?", number)
    return False


def stored_bytes(connection: Connection, kind: str, owner: int) -> int:
    """Return the bytes of the rows of an index, without the table's own."""
    statement = (
        "SELECT coalesce(sum(length(entries)), 0) FROM index_page JOIN index_run "
        "ON page >= run_id * ? AND page < (run_id + 1) * ? WHERE kind = ? AND owner = ?"
    )
    size = 1 << PLACE_BITS
    return int(fetch(connection, statement, size, size, kind, owner)[0][0])


def stray_rows(connection: Connection) -> int:
    """Return how many rows are of no run."""
    statement = "SELECT count(*) FROM index_page WHERE page >= ? AND page < ?"
    return sum(fetch(connection, statement, *gap)[0][0] for gap in _gaps(connection))


def drop_strays(connection: Connection) -> None:
    """Delete the rows that are of no run."""
    for first, end in _gaps(connection):
        execute(connection, "DELETE FROM index_page WHERE page >= ? AND page < ?", first, end)


def _gaps(connection: Connection) -> Iterator[tuple[int, int]]:
    """Yield the ranges of numbers of rows between those of runs."""
    runs = fetch(connection, "SELECT run_id FROM index_run ORDER BY run_id")
    first = 0
    for (number,) in runs:
        yield first, number << PLACE_BITS
        first = (number + 1) << PLACE_BITS
    yield first, (1 << 63) - 1
