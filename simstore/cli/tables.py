"""Print tables to standard output: whole to a file, by rich within the width of a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from simstore.cli.messages import log
from simstore.errors import printable

_GAP = "  "
# On a terminal a longer cell is cut in its middle.
_MOST_CHARACTERS = 240
# A column of so many characters, or of numbers, is not folded.
_SHORT = 12


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table to standard output, numbers to the right.

    On a terminal texts are folded into its width, columns that say nothing are left out where
    there is no room for all, and texts of more than 240 characters are cut. A file or a pipe gets
    all.

    >>> print_table(("key", "words"), [("ferry", 1_200), ("bridge", 80)])
    key     words
    ferry   1,200
    bridge     80

    Args:
        columns: Their names.
        rows: Their values.
    """
    from rich.cells import cell_len

    shown = list(rows)
    values = list(zip(*shown, strict=True)) if shown else [()] * len(columns)
    cells = [[name, *map(cell_text, held)] for name, held in zip(columns, values, strict=True)]
    is_numeric = [bool(held) and all(map(_is_number, held)) for held in values]
    widths = [max(map(cell_len, column)) for column in cells]
    if sys.stdout.isatty():
        _print_folded(cells, is_numeric, sum(widths) + len(_GAP) * (len(widths) - 1))
        return
    for line in zip(*cells, strict=True):
        padded = (
            " " * (width - cell_len(cell)) + cell
            if right
            else cell + " " * (width - cell_len(cell))
            for cell, width, right in zip(line, widths, is_numeric, strict=True)
        )
        # click would take another stream than this one where it can show ASCII alone.
        click.echo(_GAP.join(padded).rstrip(), file=sys.stdout)


def cell_text(value: Any) -> str:
    """Return a value as a table shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return printable(str(value))


def _is_number(value: Any) -> bool:
    return value in (None, "") or (isinstance(value, int | float) and not isinstance(value, bool))


def _print_folded(
    cells: Sequence[Sequence[str]], is_numeric: Sequence[bool], full_width: int
) -> None:
    """Print columns, each with its name in front, on a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    bold = "" if os.environ.get("NO_COLOR") else "bold"
    table = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style=bold)
    kept = []
    for whole, right in zip(cells, is_numeric, strict=True):
        name, *column = whole
        if full_width > console.width and all(cell in ("", "0", "-") for cell in column):
            continue
        table.add_column(
            Text(name),
            justify="right" if right else "left",
            no_wrap=right or max(map(len, whole)) <= _SHORT,
            overflow="fold",
        )
        kept.append(column)
    for row in zip(*kept, strict=True):
        table.add_row(*(Text(_cut(cell)) for cell in row))
    console.print(table)
    if any(len(cell) > _MOST_CHARACTERS for column in kept for cell in column):
        log.info("long texts are cut; --format csv has all")


def _cut(text: str) -> str:
    """Return a text, of a long one its beginning and its end."""
    half = _MOST_CHARACTERS // 2
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:half]}\u2026{text[-half:]}"
