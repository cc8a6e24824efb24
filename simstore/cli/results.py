"""Print results of commands in the common formats: table, JSON, JSON Lines, CSV.

``table`` is for people, ``json`` one JSON value, ``jsonl`` an object a line, ``csv`` a header and
rows. What a command did is a result too: a sentence for people, a record for programs.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from simstore.cli.messages import log
from simstore.errors import counted
from simstore.reports.lines import json_array, to_json
from simstore.text.decoding import encode


def print_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    output_format: str,
) -> None:
    """Print rows; as JSON each is an object of its columns.

    Args:
        columns: Their names; blanks are underlines for programs.
        rows: Their values.
        output_format: The format.
    """
    names = [name.replace(" ", "_") for name in columns]
    if output_format == "table":
        from simstore.cli.tables import print_table

        print_table(columns, rows)
    elif output_format == "csv":
        _write_csv(names, rows)
    else:
        write_objects((dict(zip(names, row, strict=True)) for row in rows), output_format)


def print_items(
    items: Iterable[Any],
    output_format: str,
    *,
    columns: Sequence[str],
    row: Callable[[Any], Sequence[Any]],
    record: Callable[[Any], Mapping[str, Any]],
) -> None:
    """Print items as :func:`print_rows` does, as records in JSON; or their ``keys``.

    Args:
        items: What is printed; for ``keys`` each has one.
        output_format: The format.
        columns: Names for a table and CSV.
        row: Returns the values of an item in these columns.
        record: Returns an item as a JSON object.
    """
    if output_format == "keys":
        write_blocks(encode(one.key) + b"\n" for one in items)
    elif output_format in ("json", "jsonl"):
        write_objects(map(record, items), output_format)
    else:
        print_rows(columns, map(row, items), output_format)


def print_record(
    record: Mapping[str, Any],
    output_format: str,
    *,
    facts: Iterable[tuple[str, Any]] | None = None,
) -> None:
    """Print names and values: for people a pair a line, as CSV a header and a row.

    Args:
        record: The names and values.
        output_format: The format.
        facts: What people are shown; None: the record.
    """
    if output_format == "table":
        print_facts(
            ((name.replace("_", " "), value) for name, value in record.items())
            if facts is None
            else facts
        )
    elif output_format == "csv":
        _write_csv(list(record), [list(record.values())])
    else:
        click.echo(to_json(record, indent=2 if output_format == "json" else None), file=sys.stdout)


def print_summary(record: Mapping[str, Any], sentence: str, output_format: str) -> None:
    """Print what a command did: a sentence for people, else names and values.

    Args:
        record: The names and values.
        sentence: The sentence; nothing is printed where it is empty.
        output_format: The format.
    """
    if output_format != "table":
        print_record(record, output_format)
    elif sentence:
        click.echo(sentence, file=sys.stdout)


def print_facts(facts: Iterable[tuple[str, Any]], *, width: int = 0) -> None:
    """Print names and values, a pair a line; the names take so many columns at least."""
    from simstore.cli.tables import cell_text

    pairs = [(name, "-" if value is None else cell_text(value)) for name, value in facts]
    width = max([width, *(len(name) for name, _ in pairs)])
    for name, value in pairs:
        click.echo(f"{name:<{width}}  {value}".rstrip(), file=sys.stdout)


def limited(items: Iterable[Any], limit: int | None, what: str) -> Iterator[Any]:
    """Yield as many items as are wanted; say so where there are more.

    Args:
        items: The items, one more than are wanted where there are so many.
        limit: How many are wanted; None: all.
        what: What one of them is, for the message.
    """
    shown = what if limit == 1 or limit is None else counted(limit, what)
    for number, item in enumerate(items):
        if number == limit:
            # After what is printed.
            click.get_current_context().call_on_close(
                lambda: log.info("the first %s; --limit N shows more", shown)
            )
            return
        yield item


def write_objects(records: Iterable[Mapping[str, Any]], output_format: str) -> None:
    """Write records as an array of ``json``, or as ``jsonl``."""
    lines = (to_json(record).encode() + b"\n" for record in records)
    write_blocks(json_array(lines) if output_format == "json" else lines)


def write_blocks(blocks: Iterable[bytes]) -> None:
    """Write bytes to standard output."""
    sys.stdout.flush()
    for block in blocks:
        sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()


def _write_csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_csv_cell(value) for value in row] for row in rows)
    sys.stdout.flush()


def _csv_cell(value: Any) -> Any:
    """Return a value for CSV: what has parts is JSON text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return to_json(value) if isinstance(value, Mapping | list | tuple) else value
