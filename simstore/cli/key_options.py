"""Options and checks shared by commands that take document keys."""

from __future__ import annotations

import click

from simstore.cli.messages import log
from simstore.cli.parameters import option
from simstore.errors import counted, printable

# How `seen` ends where it has answered, and not all were seen: errors have other codes.
NOT_ALL_SEEN = 7

keys_option = option(
    "--keys-from",
    "Take keys from a file, one a line, or from standard input (-).",
    metavar="FILE",
)


def all_keys(given: tuple[str, ...], keys_from: str | None) -> list[str]:
    """Return the keys of the command line, then those of the file.

    Raises:
        UsageError: There is no key, and no file either.
    """
    if not given and keys_from is None:
        raise click.UsageError("name a KEY, or a file of keys by --keys-from")
    if keys_from is None:
        return list(given)
    read = _keys_of_file(keys_from)
    if not read:
        log.warning("%s: no key in it", printable(keys_from))
    return [*given, *read]


def _keys_of_file(name: str) -> list[str]:
    """Return the keys of a file, or of standard input (``-``): one a line, blank lines left out.

    A UTF-8 byte order mark at the beginning is no part of the first key. What ``simstore list
    --format keys`` writes comes back as it was: bytes that are not UTF-8 are surrogate escapes.
    """
    from simstore.sources.streams import open_bytes, reading
    from simstore.text.decoding import UTF8_BOM

    with open_bytes(name) as file, reading(name):
        data = file.readall()
    lines = (line.removesuffix(b"\r") for line in data.removeprefix(UTF8_BOM).split(b"\n"))
    return [line.decode("utf-8", "surrogateescape") for line in lines if line]


def warn_of_changes(
    *, orphaned: int = 0, uncovered: int = 0, unflagged: int = 0, displaced: int = 0
) -> None:
    """Say on stderr which keys became originals, or lost theirs, and what to do about it.

    Args:
        orphaned: Skipped keys whose originals were removed.
        uncovered: Skipped keys whose originals no longer have their text.
        unflagged: Documents that were flagged, and whose originals left or changed.
        displaced: Documents that turned out to duplicate a later one.
    """
    if orphaned:
        log.warning(
            "%s skipped as duplicates of documents that were removed; "
            "`simstore duplicates --state orphaned` lists them, to be ingested again",
            counted(orphaned, "key was", "keys were"),
        )
    if uncovered:
        log.warning(
            "%s skipped as duplicates of a text that has changed since and no longer says all of "
            "it; `simstore duplicates --state uncovered` lists them, to be ingested again",
            counted(uncovered, "key was", "keys were"),
        )
    if unflagged:
        log.warning(
            "%s flagged no more: originals were removed or changed, and copies are not compared "
            "with each other again",
            counted(unflagged, "document is", "documents are"),
        )
    if displaced:
        log.warning(
            "%s now and stored as before, flagged: an earlier original came; `simstore duplicates` "
            "shows which",
            counted(displaced, "stored document is a duplicate", "stored documents are duplicates"),
        )
