"""The commands ``simstore fingerprints``: add, remove and find fingerprints by value."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.options import common_options, format_option, open_store, radius_option
from simstore.cli.output import progress
from simstore.cli.parameters import choice, command_group, files_argument
from simstore.cli.results import print_items, print_rows, print_summary
from simstore.errors import InvalidParameter, printable

if TYPE_CHECKING:
    from simstore.services.fingerprints.reader import FingerprintReader

_RADIUS = radius_option("Largest Hamming distance.")


@command_group()
def fingerprints() -> None:
    """Fingerprints by their values: those of any store, or a store of nothing else."""


@fingerprints.command()
@files_argument("files", "FILE...")
@choice(
    "--on-duplicate",
    ("keep", "skip"),
    "skip: leave out what is near one that is there, or near one before it.",
    default="keep",
)
@radius_option("With skip: largest Hamming distance of a duplicate.")
@format_option()
@common_options
def add(files: tuple[str, ...], on_duplicate: str, radius: int | None, output_format: str) -> None:
    """Add fingerprints to a store of nothing else.

    `simstore init --fingerprints-only` makes one. A .npy file is an array of uint64; any other
    file, and - for standard input, is text, one in hexadecimal a line. What is there already is
    left; a file may be added again.

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
    print_summary({"added": new, "given": total}, f"{new:,} new of {total:,}", output_format)


@fingerprints.command()
@files_argument("files", "FILE...")
@format_option()
@common_options
def remove(files: tuple[str, ...], output_format: str) -> None:
    """Remove fingerprints from such a store; files as for `add`.

    Example:
      simstore fingerprints remove --db fp.db old.npy
    """
    with open_store() as store:
        gone, total = _change(files, store.fingerprints.reader, store.fingerprints.remove)
    print_summary(
        {"removed": gone, "given": total}, f"{gone:,} removed of {total:,}", output_format
    )


@fingerprints.command()
@click.argument("values", nargs=-1, required=True, metavar="HEX...")
@_RADIUS
@format_option()
@common_options
def near(values: tuple[str, ...], radius: int | None, output_format: str) -> None:
    """Find the stored fingerprints near some, and their documents.

    A value is hexadecimal; - reads them from standard input, one a line.

    Examples:
      simstore fingerprints near 00ff3a0c12345678
      simstore fingerprints near -k 6 --format jsonl - < hashes.txt
    """
    from simstore.fingerprint.simhash import to_hex, to_integers
    from simstore.sources.fingerprint_files import parse_fingerprint, read_fingerprints

    with (
        open_store(read_only=True) as store,
        store.fingerprints.reader() as reader,
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
        print_items(
            rows,
            output_format,
            columns=("query", "distance", "fingerprint", "documents"),
            row=lambda one: (
                to_hex(one[0], bits),
                one[2],
                to_hex(one[1], bits),
                ", ".join(one[3]),
            ),
            record=lambda one: {
                "query": to_hex(one[0], bits),
                "fingerprint": to_hex(one[1], bits),
                "distance": one[2],
                "documents": one[3],
            },
        )


@fingerprints.command()
@_RADIUS
@format_option("tsv", default="tsv")
@common_options
def pairs(radius: int | None, output_format: str) -> None:
    """Write all pairs of fingerprints within the radius.

    Each is a line: left, right, distance, separated by tabs.

    Examples:
      simstore fingerprints pairs -k 2 > pairs.tsv
      simstore fingerprints pairs -k 2 --format jsonl
    """
    from simstore.fingerprint.simhash import to_hex, to_integers

    with open_store(read_only=True) as store, store.fingerprints.reader() as reader:
        bits = reader.bits
        rows = (
            (to_hex(one, bits), to_hex(other, bits), distance)
            for left, right, distances in reader.near_pairs(radius)
            for one, other, distance in zip(
                to_integers(left), to_integers(right), distances.tolist(), strict=True
            )
        )
        if output_format == "tsv":
            sys.stdout.writelines(f"{one}\t{other}\t{distance}\n" for one, other, distance in rows)
        else:
            print_rows(("left", "right", "distance"), rows, output_format)


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
    reader: FingerprintReader, queries: list[int], radius: int | None
) -> Iterator[tuple[int, int, int, list[str]]]:
    from simstore.fingerprint.simhash import to_integers

    rows, words, distances = reader.near_many(queries, radius)
    found = to_integers(words)
    keys: dict[int, list[str]] = {}
    for value, key in reader.documents_with(words):
        keys.setdefault(value, []).append(key)
    for row, value, distance in zip(rows.tolist(), found, distances.tolist(), strict=True):
        yield queries[row], value, distance, keys.get(value, [])
