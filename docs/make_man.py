"""Write man pages from the commands themselves: ``python docs/make_man.py FOLDER``.

A page a command, ``simstore.1``, ``simstore-query.1`` and so on; ``man -l FOLDER/simstore.1`` shows
one, and ``man1`` below a folder of MANPATH is their place.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
from make_commands import all_commands

from simstore.version import __version__

_HEADINGS = {"Usage": "SYNOPSIS"}


def page(path: str, context: click.Context) -> str:
    """Return the page of a command, in the macros of man(7)."""
    name = path.replace(" ", "-")
    usage, *parts = re.split(r"\n(?=\S[^\n]*:\n)", context.get_help())
    synopsis, _, description = usage.removeprefix("Usage: ").partition("\n\n")
    command = context.command
    short = command.short_help or command.get_short_help_str(1_000)
    lines = [
        f'.TH "{name.upper()}" "1" "" "simstore {__version__}" "User Commands"',
        ".SH NAME",
        f"{name} \\- {_text(short.rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_text(' '.join(synopsis.split()))}",
    ]
    description, *rest = re.split(r"\n\n(?=  Examples?:\n)", description)
    lines += [".SH DESCRIPTION", *_filled(description)]
    for part in parts:
        title, _, body = part.partition(":\n")
        body, *more = re.split(r"\n\n(?=  Examples?:\n)", body)
        rest += more
        lines += [f'.SH "{_text(title.upper())}"', *_as_it_is(body)]
    for part in rest:
        examples, _, more = part.partition("\n\n")
        lines += [".SH EXAMPLES", *_as_it_is(examples.partition("\n")[2])]
        if more:
            lines += [".SH NOTES", *_filled(more)]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Return a text in which roff sees no commands of its own."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _filled(text: str) -> list[str]:
    """Return paragraphs, which the terminal's width fills."""
    paragraphs = [" ".join(one.split()) for one in text.split("\n\n") if one.strip()]
    return [line for one in paragraphs for line in (".PP", _text(one))]


def _as_it_is(text: str) -> list[str]:
    """Return lines that stay as they are."""
    return [".nf", *(_text(line) for line in text.rstrip().splitlines()), ".fi"]


def write(folder: Path) -> list[Path]:
    """Write all pages into a folder; return them."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for path, context in all_commands():
        # What a screen of 80 columns shows, less the margin of man.
        context.terminal_width = 72
        target = folder / f"{path.replace(' ', '-')}.1"
        target.write_text(page(path, context), encoding="utf-8")
        written.append(target)
    return written


if __name__ == "__main__":
    print(f"wrote {len(write(Path(sys.argv[1])))} pages")
