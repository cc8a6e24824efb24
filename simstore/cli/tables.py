"""Print tables to standard output: whole to a file, fitted to the width of a terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from math import ceil
from shutil import get_terminal_size
from typing import Any

import click

from simstore.cli.messages import log
from simstore.errors import printable

_GAP = "  "
# Of a text that is cut, so many columns of the terminal are left at least.
_LEAST_WIDTH = 12
# What stands below a row, and the most lines of it.
_INDENT = " " * 4
_MOST_LINES = 3
# Characters of scripts without blanks, and marks that may not begin a line.
_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_CLOSING = "\u3001\u3002\u300b\u300d\u300f\uff01\uff09\uff0c\uff1a\uff1b\uff1f\u2019\u201d"
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
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    drop: Sequence[str] = (),
    below: str | None = None,
) -> None:
    """Print a table to standard output, numbers to the right.

    On a terminal it is as wide as that: columns are left out, then texts are cut in their middle,
    numbers never, and a message says what. A file or a pipe gets all.

    >>> print_table(("key", "words"), [("ferry", 1_200), ("bridge", 80)])
    key     words
    ferry   1,200
    bridge     80

    Args:
        columns: Their names.
        rows: Their values.
        drop: Columns to leave out where there is no room, in this order; those of them that say
            nothing go before the others.
        below: A column of texts that stand below their rows, in a few lines, on a terminal that
            has no room for them beside the others.
    """
    shown = list(rows)
    kept = [_Column(name, [row[place] for row in shown]) for place, name in enumerate(columns)]
    message = ""
    texts: list[list[str]] = [[] for _ in shown]
    if sys.stdout.isatty():
        room = get_terminal_size().columns
        kept, left_out = _without(kept, [one for one in kept if one.is_empty], drop, room)
        lines_of = next((column for column in kept if column.name == below), None)
        is_short = False
        if lines_of is not None and _excess(kept, room) > 0:
            kept.remove(lines_of)
            wrapped = [_wrapped(cell, room - len(_INDENT)) for cell in lines_of.cells]
            texts = [lines for lines, _ in wrapped]
            is_short = any(is_cut for _, is_cut in wrapped)
        kept, others = _without(kept, kept, drop, room, cuts=True)
        message = _message([*left_out, *others], room, is_cut=_narrow(kept, room) or is_short)
    header, *lines = zip(*(column.lines() for column in kept), strict=True)
    head = _GAP.join(header).rstrip()
    # click would take another stream than this one where it can show ASCII alone.
    click.echo(click.style(head, bold=True) if has_style() else head, file=sys.stdout)
    for line, under in zip(lines, texts, strict=True):
        click.echo(_GAP.join(line).rstrip(), file=sys.stdout)
        for text in under:
            click.echo(_INDENT + text, file=sys.stdout)
    if message:
        log.info("%s", message)


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


def _without(
    columns: list[_Column],
    candidates: Sequence[_Column],
    drop: Sequence[str],
    room: int,
    *,
    cuts: bool = False,
) -> tuple[list[_Column], list[_Column]]:
    """Leave out candidates, in the order of their names in ``drop``, until the others fit.

    Args:
        columns: All columns.
        candidates: Columns that may be left out.
        drop: Their names in order; other columns stay.
        room: Columns of the terminal.
        cuts: Texts will be cut to a fair share of the room.

    Returns:
        The columns that stay, and those that are left out.
    """
    left_out: list[_Column] = []
    for column in (one for name in drop for one in candidates if one.name == name):
        if _excess(columns, room, cuts=cuts) > 0:
            left_out.append(column)
            columns = [one for one in columns if one is not column]
    return columns, left_out


def _message(left_out: Sequence[_Column], room: int, *, is_cut: bool) -> str:
    """Return the names of columns that are not shown, and whether texts are cut; or nothing."""
    told = [f"left out: {', '.join(column.name for column in left_out)}"] if left_out else []
    told += ["long texts are cut"] if is_cut else []
    return f"{'; '.join(told)}, to fit {room} columns; --format csv has all" if told else ""


def _excess(columns: Sequence[_Column], room: int, *, cuts: bool = False) -> int:
    """Return by how much columns are too wide, with texts cut to a fair share if ``cuts``."""
    texts = sum(not column.is_whole for column in columns)
    # Texts, keys above all, say more than figures beside them: each has twice their share.
    share = max(2 * room / (1 + 2 * texts), _LEAST_WIDTH) if cuts else room
    widths = (one.width if one.is_whole or not cuts else min(one.width, share) for one in columns)
    return ceil(sum(widths)) + len(_GAP) * (len(columns) - 1) - room


def _narrow(columns: Sequence[_Column], room: int) -> bool:
    """Make the widest texts narrower until the table fits; return whether one was."""
    is_cut = False
    while (excess := _excess(columns, room)) > 0:
        texts = sorted((one for one in columns if not one.is_whole), key=lambda one: -one.width)
        if not texts or texts[0].width <= _LEAST_WIDTH:
            break
        # As far as the next widest, and then both.
        next_width = texts[1].width if len(texts) > 1 else 0
        texts[0].width -= max(min(excess, texts[0].width - max(next_width, _LEAST_WIDTH)), 1)
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


def _wrapped(text: str, width: int) -> tuple[list[str], bool]:
    """Return a text in a few lines of so many columns, and whether something is left out.

    Of a longer text the last line is its end.
    """
    from rich.cells import cell_len

    def filled(pieces: Iterable[str], room: int) -> list[str]:
        """Return the first of the pieces that have room in a line."""
        line: list[str] = []
        for piece in pieces:
            if line and room < cell_len(piece.rstrip()):
                break
            line.append(piece)
            room -= cell_len(piece)
        return line

    # Words and, of scripts without blanks, characters, with the blanks after them.
    pieces = re.findall(rf"(?:[{_WIDE}][{_CLOSING}]*|[^\s{_WIDE}]{{1,{width - 2}}})\s*", text)
    left = pieces
    lines: list[str] = []
    while left and len(lines) < _MOST_LINES:
        line = filled(left, width)
        left = left[len(line) :]
        lines.append("".join(line).rstrip())
    if left:
        end = filled(reversed(pieces), width - 3)[::-1]
        lines[-1] = f"\u2026 {''.join(end)}"
    return lines, bool(left)
