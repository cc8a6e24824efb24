"""The commands ``simstore fingerprints``: fingerprints by their values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.options import RADIUS_DEFAULT, common_options, format_option, open_store
from simstore.cli.output import print_table, progress
from simstore.cli.parameters import choice, command_group, flag, option
from simstore.errors import InvalidParameter, printable
from simstore.reports.lines import to_json

if TYPE_CHECKING:
    from simstore.services.fingerprints.reader import Reader

_RADIUS = option(
    "-k --radius", f"Largest Hamming distance.  {RADIUS_DEFAULT}", type=int, metavar="BITS"
)
_RESIDENT = flag(
    "--resident", "Read all fingerprints into memory first: faster for many questions."
)


@command_group()
def fingerprints() -> None:
    """Fingerprints by their values: those of any store, or a store of nothing else."""


@fingerprints.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@choice(
    "--on-duplicate",
    ("keep", "skip"),
    "skip: leave out what is near one that is there, or near one before it.",
    default="keep",
)
@option(
    "-k --radius",
    f"With skip: largest Hamming distance of a duplicate.  {RADIUS_DEFAULT}",
    type=int,
    metavar="BITS",
)
@common_options
def add(files: tuple[str, ...], on_duplicate: str, radius: int | None) -> None:
    """Add fingerprints to a store made by `simstore init --fingerprints-only`.

    A .npy file is an array of uint64; any other file, and - for standard input, is text, one in
    hexadecimal a line. What is there already is left; a file may be added again.

    Examples:
      simstore init --fingerprints-only --db fp.db
      simstore fingerprints add --db fp.db hashes.npy
      simstore fingerprints add --db fp.db --on-duplicate skip -k 3 hashes.npy
      cut -f 1 table.tsv | simstore fingerprints add --db fp.db -
    """
    if on_duplicate == "keep" and radius is not None:
        raise click.UsageError("--radius says what a duplicate is: give --on-duplicate skip too")
    with open_store() as store:
        apart = None
        if on_duplicate == "skip":
            from simstore.search.plan import default_radius

            bits = store.maintenance.scheme().bits
            apart = default_radius(bits) if radius is None else radius
        new, total = _change(
            files, store.fingerprints.reader, partial(store.fingerprints.add, apart=apart)
        )
    click.echo(f"{new:,} new of {total:,}")


@fingerprints.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@common_options
def remove(files: tuple[str, ...]) -> None:
    """Remove fingerprints from such a store; files as for `add`."""
    with open_store() as store:
        gone, total = _change(files, store.fingerprints.reader, store.fingerprints.remove)
    click.echo(f"{gone:,} removed of {total:,}")


@fingerprints.command()
@click.argument("values", nargs=-1, required=True, metavar="HEX...")
@_RADIUS
@_RESIDENT
@format_option("table", "jsonl")
@common_options
def near(values: tuple[str, ...], radius: int | None, resident: bool, output_format: str) -> None:
    """Find the stored fingerprints near some, and the documents that have them.

    A value is hexadecimal; - reads them from standard input, one a line.

    Examples:
      simstore fingerprints near 00ff3a0c12345678
      simstore fingerprints near -k 6 --format jsonl - < hashes.txt
    """
    from simstore.fingerprint.simhash import to_hex, to_integers
    from simstore.sources.fingerprint_files import parse_fingerprint, read_fingerprints

    with (
        open_store(read_only=True) as store,
        store.fingerprints.reader(resident=resident) as reader,
    ):
        bits = reader.bits
        queries: list[int] = []
        for text in values:
            if text == "-":
                for block in read_fingerprints(text, bits):
                    queries += to_integers(block)
                continue
            value = parse_fingerprint(text, bits)
            if value is None:
                raise InvalidParameter(
                    f"{printable(text)!r} is no fingerprint of {bits} bits; "
                    f"write it as {(bits + 3) // 4} hexadecimal digits"
                )
            queries.append(value)
        rows = _near_rows(reader, queries, radius)
        if output_format == "jsonl":
            for query, found, distance, keys in rows:
                record = {
                    "query": to_hex(query, bits),
                    "fingerprint": to_hex(found, bits),
                    "distance": distance,
                    "documents": keys,
                }
                click.echo(to_json(record))
            return
        print_table(
            ("query", "distance", "fingerprint", "documents"),
            (
                (to_hex(query, bits), distance, to_hex(found, bits), ", ".join(keys))
                for query, found, distance, keys in rows
            ),
        )


@fingerprints.command()
@_RADIUS
@common_options
def pairs(radius: int | None) -> None:
    """Write all pairs of stored fingerprints within the radius: left, right, distance.

    Examples:
      simstore fingerprints pairs -k 2 > pairs.tsv
    """
    from simstore.fingerprint.simhash import to_hex, to_integers

    with open_store(read_only=True) as store, store.fingerprints.reader() as reader:
        bits = reader.bits
        for left, right, distances in reader.near_pairs(radius):
            triples = zip(to_integers(left), to_integers(right), distances.tolist(), strict=True)
            sys.stdout.writelines(
                f"{to_hex(one, bits)}\t{to_hex(other, bits)}\t{distance}\n"
                for one, other, distance in triples
            )


def _change(
    files: Iterable[str], open_reader: Callable[[], Any], change: Callable[..., int]
) -> tuple[int, int]:
    """Add or remove the fingerprints of files; return how many changed, and how many there were."""
    from simstore.sources.fingerprint_files import read_fingerprints

    with open_reader() as reader:
        bits = reader.bits
    changed = total = 0
    with progress("fingerprints") as show:
        for name in files:
            for block in read_fingerprints(name, bits):
                changed += change(block)
                total += len(block)
                show(total, total)
    return changed, total


def _near_rows(
    reader: Reader, queries: list[int], radius: int | None
) -> Iterator[tuple[int, int, int, list[str]]]:
    from simstore.fingerprint.simhash import to_integers

    rows, words, distances = reader.near_many(queries, radius)
    found = to_integers(words)
    keys: dict[int, list[str]] = {}
    for value, key in reader.documents_with(words):
        keys.setdefault(value, []).append(key)
    for row, value, distance in zip(rows.tolist(), found, distances.tolist(), strict=True):
        yield queries[row], value, distance, keys.get(value, [])
