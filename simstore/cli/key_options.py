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
    from simstore.sources.keys import read_keys

    if not given and keys_from is None:
        raise click.UsageError("name a KEY, or a file of keys by --keys-from")
    if keys_from is None:
        return list(given)
    read = read_keys(keys_from)
    if not read:
        log.warning("%s: no key in it", printable(keys_from))
    return [*given, *read]


def warn_of_orphans(count: int) -> None:
    """Say on stderr that keys became orphans."""
    if count:
        log.warning(
            "%s skipped as duplicates of what has gone; `simstore duplicates --state "
            "orphaned` lists them, to be ingested again",
            counted(count, "key was", "keys were"),
        )


def warn_of_uncovered(count: int) -> None:
    """Say on stderr that skipped keys are no longer covered by what they duplicated."""
    if count:
        log.warning(
            "%s skipped as duplicates of a text that has changed since and no longer says all of "
            "it; `simstore duplicates --state uncovered` lists them, to be ingested again",
            counted(count, "key was", "keys were"),
        )


def warn_of_unflagged(count: int) -> None:
    """Say on stderr that documents are flagged no more."""
    if count:
        documents, they = ("document is", "it") if count == 1 else ("documents are", "they")
        log.warning(
            "%s %s flagged no more: what %s duplicated has gone or changed, and copies are not "
            "compared with each other again",
            f"{count:,}",
            documents,
            they,
        )


def warn_of_displaced(count: int) -> None:
    """Say on stderr that stored documents turned out to duplicate what came later."""
    if count:
        log.warning(
            "%s now and stored as before, flagged: an earlier original came; `simstore duplicates` "
            "shows which",
            counted(count, "stored document is a duplicate", "stored documents are duplicates"),
        )
