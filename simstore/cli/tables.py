"""Tables on standard output: all of them for a file, what fits the width for a terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from typing import Any

import click

from simstore.cli.messages import log
from simstore.errors import printable

_GAP = "  "
# Of a text that is cut, so many columns of the terminal are left at least.
_LEAST_WIDTH = 12
_FIGURES = re.compile(r"[~+-]?\d[\d.,:+ -]*(UTC|%)?|-?")


class _Column:
    """A column: its name and the text of its cells.

    Attributes:
        is_numeric: It holds numbers, which stand to the right.
        is_whole: It holds numbers, shares or times, which are not cut.
        is_empty: It says nothing: blanks or zeros only.
        width: How wide it is shown, in columns of a terminal.
    """

    def __init__(self, name: str, values: Sequence[Any]) -> None:
        from rich.cells import cell_len

        self.name = name
        self.cells = [cell_text(value) for value in values]
        self.is_numeric = bool(values) and all(
            value in (None, "") or (isinstance(value, int | float) and not isinstance(value, bool))
            for value in values
        )
        self.is_whole = all(_FIGURES.fullmatch(cell) for cell in self.cells)
        self.is_empty = not any(value not in (None, "", 0, "-") for value in values)
        self.width = max(map(cell_len, (name, *self.cells)))

    def lines(self) -> list[str]:
        """Return header and cells, each as wide as the column."""
        from rich.cells import cell_len

        found = []
        for cell in (self.name, *self.cells):
            shown = cell if cell_len(cell) <= self.width else _cut(cell, self.width)
            blanks = " " * (self.width - cell_len(shown))
            found.append(blanks + shown if self.is_numeric else shown + blanks)
        return found


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, drop: Sequence[str] = ()
) -> None:
    """Print a table to standard output, numbers to the right.

    On a terminal it is as wide as that: columns are left out, then texts are cut in their middle,
    numbers never, and a message says what. A file or a pipe gets all.

    Args:
        columns: Their names.
        rows: Their values.
        drop: Columns to leave out where there is no room, in this order; those of them that say
            nothing go before the others.
    """
    shown = list(rows)
    kept = [_Column(name, [row[place] for row in shown]) for place, name in enumerate(columns)]
    if sys.stdout.isatty():
        kept = _fitted(kept, get_terminal_size().columns, drop)
    header, *lines = zip(*(column.lines() for column in kept), strict=True)
    head = _GAP.join(header).rstrip()
    click.echo(click.style(head, bold=True) if has_style() else head)
    for line in lines:
        click.echo(_GAP.join(line).rstrip())


def cell_text(value: Any) -> str:
    """Return a value as a table shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return printable(str(value))


def has_style() -> bool:
    """Return whether standard output shows bold letters, and nobody declined them."""
    term = os.environ.get("TERM", "").lower()
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and term not in ("dumb", "unknown")
    )


def _fitted(columns: list[_Column], room: int, drop: Sequence[str]) -> list[_Column]:
    """Return the columns that fit a width, and say which are left out."""
    by_name = {column.name: column for column in columns}
    order = [by_name[name] for name in drop if name in by_name]
    order.sort(key=lambda column: not column.is_empty)
    left_out = []
    while order and _total(columns) > room:
        left_out.append(order.pop(0))
        columns = [column for column in columns if column is not left_out[-1]]
    # What has become too much, now that wider columns are gone, comes back.
    for column in reversed(left_out):
        again = [one for one in by_name.values() if one in columns or one is column]
        if _total(again) <= room:
            columns = again
            left_out.remove(column)
    is_cut = _narrow(columns, room)
    told = [f"without {', '.join(one.name for one in left_out)}"] if left_out else []
    told += ["some texts are cut (\u2026)"] if is_cut else []
    if told:
        log.info("%s: the terminal is too narrow; --format csv has all", ", ".join(told))
    return columns


def _total(columns: Sequence[_Column]) -> int:
    return sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1)


def _narrow(columns: Sequence[_Column], room: int) -> bool:
    """Make the widest texts narrower until the table fits; return whether one was."""
    is_cut = False
    while (excess := _total(columns) - room) > 0:
        texts = sorted((one for one in columns if not one.is_whole), key=lambda one: -one.width)
        if not texts or texts[0].width <= _LEAST_WIDTH:
            break
        # As far as the next widest, and then both.
        next_width = texts[1].width if len(texts) > 1 else 0
        step = max(min(excess, texts[0].width - max(next_width, _LEAST_WIDTH)), 1)
        texts[0].width -= step
        is_cut = True
    return is_cut


def _cut(text: str, width: int) -> str:
    """Return both ends of a text, with an ellipsis between them, in so many columns."""
    from rich.cells import cell_len

    def taken(characters: Iterable[str], room: int) -> list[str]:
        found: list[str] = []
        for character in characters:
            room -= cell_len(character)
            if room < 0:
                break
            found.append(character)
        return found

    tail = taken(reversed(text), (width - 1) // 2)[::-1]
    head = taken(text, width - 1 - cell_len("".join(tail)))
    return f"{''.join(head)}\u2026{''.join(tail)}"
