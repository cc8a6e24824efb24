"""Read documents from memory: lists, records, rows of DataFrames, Arrow tables and datasets.

Tables are known by their methods, so that none of their packages is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan
from os import PathLike
from typing import Any

import numpy as np

from simstore.errors import InvalidParameter, printable
from simstore.model import Document, Rejection
from simstore.sources.documents import (
    KEY_FIELDS,
    TEXT_FIELDS,
    Addable,
    DocumentsGiven,
    accept,
    key_within,
)
from simstore.sources.fields import RecordFields, check_columns
from simstore.sources.reader import ReadOptions

_ROWS = 1_000
_RECORDS = "records"
# Names of columns to their values, all of one length.
_Columns = Mapping[str, Sequence[Any]]


def documents_of(given: DocumentsGiven, read: ReadOptions | None) -> Iterator[Document | Rejection]:
    """Return an iterator over the documents of what a caller gives.

    Args:
        given: Documents, (key, text) pairs and mappings, as for
            :func:`~.documents.accept`; a mapping of keys to texts; or a table, as for
            :func:`as_table`, whose rows are records.
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
            check_columns(table.label, table.names, options, partial(_remedy, table.names, options))
        return _read(table.label, table.rows(), options)
    if isinstance(given, Mapping) and not (
        any(name in given for name in KEY_FIELDS) and any(name in given for name in TEXT_FIELDS)
    ):
        # Keys and their texts.
        return _accepted(given.items())
    if isinstance(given, Mapping):
        raise InvalidParameter("one document is given where several can be; put it into a list")
    if isinstance(given, PathLike):
        raise InvalidParameter(
            f"{given} is a path: ingest() takes files, and Files(path) stands for their documents"
        )
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidParameter(
            f"{type(given).__name__} holds no documents; give a list of them, or a DataFrame"
        )
    if read is None:
        return _accepted(given)
    return _read(_RECORDS, map(_as_record, given), read)


def _accepted(given: Iterable[Addable]) -> Iterator[Document]:
    """Yield the documents that are given; what is none is named by its place, from 1, and its key.

    Raises:
        InvalidParameter: It is no document.
    """
    for place, one in enumerate(given, 1):
        try:
            yield accept(one)
        except InvalidParameter as error:
            key = key_within(one)
            named = "" if key is None else f" (key {printable(str(key))!r})"
            raise InvalidParameter(f"document {place}{named}: {error}") from None


def _remedy(names: Sequence[str], options: ReadOptions, what: str) -> str:
    """Return how the column of keys or texts is told."""
    shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    told = f"name the {what}'s, {what}_field='...' (it has {shown})"
    usual = [options.text_field] if options.text_field else TEXT_FIELDS
    text = next((name for name in usual if name in names), None)
    if what == "key" and text is not None:
        # Rows are not numbered unasked: those of the next table would take the place of these.
        told += f", or number the rows: enumerate(table[{text!r}])"
    return told


def samples_given(given: Any) -> Iterator[Document]:
    """Return an iterator over samples, of which some may be texts alone.

    Args:
        given: What :func:`documents_of` takes, or texts, whose keys are their numbers from 0; so
            are those of the rows of a table without a column of keys.

    Raises:
        InvalidParameter: It holds no documents or texts, or something in it is none.
    """
    if isinstance(given, str | bytes):
        raise InvalidParameter("one text is given where several can be; put it into a list")
    table = as_table(given)
    if table is not None and table.names is not None and not {*KEY_FIELDS} & {*table.names}:
        given = ({**row, KEY_FIELDS[0]: n} for n, row in enumerate(table.rows()))
        if not {*TEXT_FIELDS} & {*table.names}:
            check_columns(
                table.label, {*table.names, *KEY_FIELDS}, ReadOptions(),
                partial(_remedy, table.names, ReadOptions()),
            )  # fmt: skip
    if table is None and not isinstance(given, Mapping) and isinstance(given, Iterable):
        given = ((n, one) if isinstance(one, str) else one for n, one in enumerate(given))
    return _usable(documents_of(given, None))


def _usable(records: Iterable[Document | Rejection]) -> Iterator[Document]:
    for record in records:
        if isinstance(record, Rejection):
            raise InvalidParameter(f"{record.source}, row {record.position}: {record.reason}")
        yield record


def _as_record(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidParameter(f"{type(given).__name__} is no record; give a mapping")
    return present((str(name), value) for name, value in given.items())


def _read(
    label: str, records: Iterable[dict[str, Any]], options: ReadOptions
) -> Iterator[Document | Rejection]:
    """Yield the document of each record; why there is none, where it cannot be used."""
    fields = RecordFields(label, options, key_required=True)
    key_fields = (options.key_field,) if options.key_field else KEY_FIELDS
    for number, record in enumerate(records):
        for name in key_fields:
            # pandas makes floats of whole numbers where one of a column is missing.
            key = record.get(name)
            if isinstance(key, float) and key.is_integer():
                record[name] = int(key)
        made = fields.row(record.items(), number)
        if isinstance(made, Document):
            # It comes from no source in which it could stand.
            made = replace(made, position=None, byte_offset=None, end_offset=None)
        yield made


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows can be read.

    Attributes:
        label: What it is called where a row of it is rejected: ``pandas.DataFrame``.
        names: Its columns; None: it does not say.
    """

    label: str
    names: tuple[str, ...] | None
    _chunks: Callable[[], Iterator[_Columns]]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows in order, without the values that are missing."""
        for columns in self._chunks():
            names = list(columns)
            for row in zip(*columns.values(), strict=True):
                yield present(zip(names, row, strict=True))


def as_table(given: Any) -> Table | None:
    """Return an adapter that reads the rows of a table; None where the value is no table.

    Args:
        given: A DataFrame of pandas (the levels of its index that have a name are columns) or
            polars; a table, a batch or a reader of batches of PyArrow; a ``Dataset`` or an
            ``IterableDataset`` of Hugging Face; what has the same methods.

    Raises:
        InvalidParameter: Two columns have one name, or a lazy frame is not collected.
    """
    label = f"{type(given).__module__.partition('.')[0]}.{type(given).__name__}"
    if hasattr(given, "iloc") and hasattr(given, "columns"):
        return Table(label, _names(label, _pandas_columns(given)), lambda: _of_pandas(given))
    if hasattr(given, "collect_schema") and hasattr(given, "collect"):
        raise InvalidParameter(f"{label} holds no rows yet; give what its collect() returns")
    if hasattr(given, "iter_slices"):
        return Table(label, _names(label, given.columns), lambda: _of_polars(given))
    if hasattr(given, "read_next_batch") or hasattr(given, "to_pydict"):
        return Table(label, _names(label, given.schema.names), lambda: _of_arrow(given))
    if hasattr(given, "column_names") and hasattr(given, "iter"):
        columns = given.column_names
        names = None if columns is None else _names(label, columns)
        return Table(label, names, lambda: given.iter(batch_size=_ROWS))
    return None


def present(cells: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a record without missing values (None, NaN), and with NumPy values as Python's."""
    found = {}
    for name, cell in cells:
        value = cell.tolist() if isinstance(cell, np.ndarray | np.generic) else cell
        if value is not None and not (isinstance(value, float) and isnan(value)):
            found[name] = value
    return found


def _names(label: str, columns: Any) -> tuple[str, ...]:
    names = tuple(map(str, columns))
    for name in names:
        if names.count(name) > 1:
            raise InvalidParameter(f"{label}: two columns are called {name!r}; rename one")
    return names


def _pandas_columns(frame: Any) -> list[str]:
    """Return the columns of a DataFrame, and the names of its index that are no column."""
    columns = [str(name) for name in frame.columns]
    index = [str(name) for name in frame.index.names if name is not None]
    return [*(name for name in index if name not in columns), *columns]


def _of_pandas(frame: Any) -> Iterator[_Columns]:
    columns = {str(name) for name in frame.columns}
    for start in range(0, len(frame), _ROWS):
        part = frame.iloc[start : start + _ROWS]
        found = {
            str(name): part.index.get_level_values(level)
            for level, name in enumerate(part.index.names)
            if name is not None and str(name) not in columns
        }
        found |= {str(name): part[name] for name in part.columns}
        yield {
            name: [
                None if missing else value
                for value, missing in zip(values.tolist(), values.isna(), strict=True)
            ]
            for name, values in found.items()
        }


def _of_polars(frame: Any) -> Iterator[_Columns]:
    for part in frame.iter_slices(_ROWS):
        yield part.to_dict(as_series=False)


def _of_arrow(table: Any) -> Iterator[_Columns]:
    # A table has batches, a reader gives them, and a batch is one.
    if hasattr(table, "to_batches"):
        batches = table.to_batches(max_chunksize=_ROWS)
    elif hasattr(table, "read_next_batch"):
        batches = table
    else:
        batches = [table]
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            yield batch.slice(start, _ROWS).to_pydict()
