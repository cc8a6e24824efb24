"""Give back those of rows in memory that are new, or those that are known, as they were given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from simstore.errors import InvalidParameter
from simstore.model import Document
from simstore.services.dedup.gates import Answer, Keep
from simstore.sources.columnar import taken
from simstore.sources.documents import TEXT_FIELDS
from simstore.sources.fields import no_text
from simstore.sources.frames import as_table

# Rows that are asked about together.
_ROWS = 1_000


def filter_given(answer: Answer, given: Any, keep: Keep, text_field: str | None) -> Any:
    """Return the rows of what a caller gives that are kept, in the same form.

    Args:
        answer: Tells what is known.
        given: Rows (texts, ``(key, text)`` pairs, mappings, documents); a mapping of names of
            columns to lists, as a batch of ``datasets`` is; or a table of pandas, polars, PyArrow
            or ``datasets``.
        keep: Which rows are kept.
        text_field: The field or column of the text; None: the first of the usual ones.

    Returns:
        An iterator over rows that were given one by one; else what was given, with fewer rows.

    Raises:
        InvalidParameter: Something has no text.
    """
    if keep not in ("new", "known"):
        raise InvalidParameter(f"keep {keep!r}: choose new or known")
    if isinstance(given, str | bytes):
        raise InvalidParameter("one text is given where several can be; put it into a list")
    if isinstance(given, Mapping):
        texts = _column(given, text_field)
        chosen = _chosen(answer, texts, keep)
        return {name: [values[n] for n in chosen] for name, values in given.items()}
    table = as_table(given)
    if table is None:
        return _rows(answer, given, keep, text_field)
    if hasattr(given, "__len__") or hasattr(given, "num_rows"):
        name = _text_name(table.names or (), text_field)
        texts = [row.get(name) for row in table.rows()]
        return _taken(given, _chosen(answer, texts, keep))
    # What comes in parts: its rows, one by one.
    return _rows(answer, table.rows(), keep, text_field)


def _rows(answer: Answer, given: Iterable[Any], keep: Keep, field: str | None) -> Iterator[Any]:
    left = iter(given)
    done = 0
    while rows := list(islice(left, _ROWS)):
        texts = [_text(row, field, number) for number, row in enumerate(rows, done)]
        for place in _chosen(answer, texts, keep, done):
            yield rows[place]
        done += len(rows)


def _chosen(answer: Answer, texts: Sequence[Any], keep: Keep, first: int = 0) -> list[int]:
    """Return the places of the texts that are kept; the first is that of a row of this number."""
    for number, text in enumerate(texts, first):
        if not isinstance(text, str):
            raise InvalidParameter(f"row {number} has no text: {type(text).__name__}")
    found: list[int] = []
    for start in range(0, len(texts), _ROWS):
        asked = [Document(str(n), text) for n, text in enumerate(texts[start : start + _ROWS])]
        for place, known in enumerate(answer(asked), start):
            if (known is None) == (keep == "new"):
                found.append(place)
    return found


def _text(row: Any, field: str | None, number: int) -> Any:
    """Return the text of a row, which has a number."""
    if isinstance(row, Document):
        return row.text
    if isinstance(row, Mapping):
        return row.get(_text_name(tuple(row), field, f"row {number}: "))
    if isinstance(row, tuple | list) and len(row) == 2:
        return row[1]
    return row


def _text_name(names: Sequence[str], field: str | None, where: str = "") -> str:
    """Return the field or column that has the text; a message of there being none begins so."""
    wanted = TEXT_FIELDS if field is None else (field,)
    for name in wanted:
        if name in names:
            return name
    raise InvalidParameter(where + no_text(wanted, names))


def _column(batch: Mapping[str, Sequence[Any]], field: str | None) -> Sequence[Any]:
    values = batch[_text_name(tuple(batch), field)]
    if isinstance(values, str):
        raise InvalidParameter("one row is given where several can be; put it into a list")
    return values


def _taken(table: Any, places: Sequence[int]) -> Any:
    """Return some rows of a table, as a table of the same kind."""
    if hasattr(table, "iloc"):
        return table.iloc[list(places)]
    if hasattr(table, "iter_slices"):
        return table[list(places)]
    # A data set takes a number of first rows by the other word.
    if hasattr(table, "features"):
        return table.select(list(places))
    return taken(table, list(places))
