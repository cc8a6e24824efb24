"""Look keys up in a filter file, for ``simstore seen --filter``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from simstore.cli.output import print_table
from simstore.errors import printable
from simstore.known_filter import KnownFilter
from simstore.reports.lines import key_bytes, key_text, to_json
from simstore.text.decoding import encode

_NOT_ALL = 3


def print_known(
    path: str, keys: Sequence[str], content: str | bytes | None, output_format: str
) -> None:
    """Print which keys, or whether a text, a filter knows; exit with 3 where it knows not all.

    Args:
        path: The filter.
        keys: The keys; none where ``content`` is given.
        content: A text, or the digest of one.
        output_format: ``table``, ``jsonl`` or ``keys``.
    """
    known = KnownFilter.load(path)
    if content is not None:
        is_known = (
            known.knows_text(content) if isinstance(content, str) else known.knows_digest(content)
        )
        if output_format != "keys":
            click.echo(
                _word(is_known) if output_format == "table" else to_json({"known": is_known})
            )
        answers = [is_known]
    else:
        answers = known.knows_keys(keys).tolist()
        _print(list(zip(keys, answers, strict=True)), output_format)
    if not all(answers):
        raise SystemExit(_NOT_ALL)


def _print(rows: Sequence[tuple[str, bool]], output_format: str) -> None:
    if output_format == "table":
        print_table(("key", "state"), ((printable(key), _word(found)) for key, found in rows))
        return
    for key, found in rows:
        if output_format == "jsonl":
            click.echo(to_json({"key": key_text(key), **key_bytes("key", key), "known": found}))
        elif found:
            sys.stdout.buffer.write(encode(key) + b"\n")
    sys.stdout.flush()


def _word(is_known: bool) -> str:
    return "known" if is_known else "unknown"
