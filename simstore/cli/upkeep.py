"""Maintenance commands: ``backup``, ``compact``, ``reindex``, ``fsck`` and others."""

from __future__ import annotations

import sys
from typing import Any

import click

from simstore.cli.messages import log
from simstore.cli.options import (
    bands_of,
    channel_names,
    channels_option,
    common_options,
    format_option,
    open_store,
    store_place,
)
from simstore.cli.output import check_output, progress
from simstore.cli.parameters import command, completed, flag, option
from simstore.cli.results import print_rows, print_summary
from simstore.cli.scheme_options import choice_here, scheme_choice, scheme_options
from simstore.errors import InvalidParameter, SchemaOutOfDate, counted, printable, shown_place

# What SQLite looks at in a copy before it gets its name.
_CHECKS = ("integrity_check", "foreign_key_check")
_PASSED = "passed SQLite's integrity and foreign key checks"


@command()
@scheme_options
@channels_option(is_new=False)
@flag("--resume", "Go on with a reindex that was interrupted.")
@flag("--abort", "Give up a reindex that was interrupted.")
@format_option()
@common_options
def reindex(
    channels: str | None, resume: bool, abort: bool, output_format: str, **scheme: Any
) -> None:
    """Make all fingerprints and sketches anew from the kept texts, by any scheme.

    Queries go on with the old ones until the switch; new documents are refused. Where it was
    interrupted, the same command goes on.

    Examples:
      simstore reindex                          the same scheme, computed anew
      simstore reindex --scheme web --bits 128  longer fingerprints
      simstore reindex --channels simhash,minhash  sketches, too
      simstore reindex --resume                 go on after an interruption
    """
    choice = scheme_choice(**scheme)
    if (resume or abort) and (choice is not None or channels is not None):
        raise click.UsageError("--resume and --abort take no scheme: it was chosen at the start")
    if resume and abort:
        raise click.UsageError("choose --resume or --abort")
    with open_store() as store:
        if abort:
            store.maintenance.abort_reindex()
            standing = store.maintenance.scheme().label
            print_summary(
                {"scheme": standing, "aborted": True},
                "given up; the store stands as before",
                output_format,
            )
            return
        with progress("reindex") as show:
            label = store.maintenance.reindex(
                choice_here(choice),
                channels=None if channels is None else channel_names(channels),
                resume=resume,
                on_progress=show,
            )
        passages = store.passages.status(sizes=False)
    if passages is not None and passages.other_form:
        log.warning(
            "the passage index still normalizes texts as the previous scheme did; "
            "`simstore compact --drop-passages` and `simstore passages build` rebuild it"
        )
    print_summary({"scheme": label, "aborted": False}, f"scheme {label} stands", output_format)


@command()
@click.argument("target", type=click.Path(), metavar="FILE")
@flag("--force", "Replace a store that is there; another file never.")
@format_option()
@common_options
def backup(target: str, force: bool, output_format: str) -> None:
    """Copy the store, while others use it, and let SQLite check the copy.

    Examples:
      simstore backup monday.db
      simstore backup --force latest.db       in the place of the last one
      simstore --server URL backup a.db  of a served store; an admin's token

    The copy gets its name when SQLite's integrity_check and foreign_key_check found nothing wrong
    in it. --force replaces a store, or an empty file, and no other file.
    """
    if target == "-":
        raise InvalidParameter("backup -: a backup is checked as a file; name one")
    check_output(target, replace=force)
    with open_store(served=True) as store, progress("backup") as show:
        size = store.maintenance.backup(target, replace=force, on_progress=show)
    shown = printable(target)
    print_summary(
        {"path": shown, "byte_count": size, "checks": ", ".join(_CHECKS)},
        f"{shown}: {size:,} bytes; {_PASSED}",
        output_format,
    )


@command()
@click.argument("backup_file", metavar="BACKUP", shell_complete=completed("file"))
@flag("--force", "Replace a store that is there; another file never.")
@format_option()
@common_options
def restore(backup_file: str, force: bool, output_format: str) -> None:
    """Put a backup in the place of the store, and let SQLite check it.

    Examples:
      simstore restore monday.db                 to simstore.db, which is gone
      simstore restore monday.db --db store.db   to another place
      simstore restore monday.db --force         in the place of the store there

    The backup stays as it is. Its copy takes the older store's place when it is complete, and
    SQLite's integrity_check and foreign_key_check found nothing wrong in it; `simstore fsck` checks
    more. --force replaces a store, or an empty file, and no other file. A store that a server or
    another command has open is not replaced: stop that first.
    """
    from simstore.store import restore_store

    place = store_place()
    with progress("restore") as show:
        size = restore_store(backup_file, place, replace=force, on_progress=show)
    count: int | None = None
    try:
        with open_store(read_only=True) as store:
            count = len(store)
    except SchemaOutOfDate as error:
        # It is restored all the same, as it was.
        log.warning("%s", error)
    holds = "" if count is None else f"{counted(count, 'document')}, "
    print_summary(
        {
            "path": shown_place(place),
            "byte_count": size,
            "document_count": count,
            "checks": ", ".join(_CHECKS),
        },
        f"{shown_place(place)}: {holds}{size:,} bytes; {_PASSED}",
        output_format,
    )
    log.info("fingerprints, counts and indexes were not computed again: `simstore fsck` does so")


@command()
@option(
    "--bands",
    "Cut sketches into B bands of R values from now on; at most 128 values.",
    metavar="BxR",
)
@flag("--drop-passages", "Delete the passage index, which `passages build` makes again.")
@flag("--plain", "Put fingerprints into plain rows, which any SQLite shell can query.")
@option(
    "--keep-columns/--drop-columns columns",
    "From now on packed fingerprints have indexed segment columns too, for SQL, or have none.  "
    "[default: as `init` set it]",
    default=None,
)
@format_option()
@common_options
def compact(
    bands: str | None,
    drop_passages: bool,
    plain: bool,
    columns: bool | None,
    output_format: str,
) -> None:
    """Pack fingerprints and sketches, and give unused space back to the file system.

    Examples:
      simstore compact                  after many removals
      simstore compact --plain          fingerprints in plain rows, for SQL
      simstore compact --keep-columns   segment columns in addition to the pages
      simstore compact --bands 21x6     fewer candidates, less found below 0.8

    An ingest packs long tails at its end: of sketches, and from 262,144 of them on of
    fingerprints. Results are the same before, meanwhile and after.
    """
    layout = bands_of(bands)
    with open_store() as store, progress("compact", at_once=False) as show:
        made = store.maintenance.compact(
            layout, plain=plain, columns=columns, drop_passages=drop_passages, on_progress=show
        )
    before, after = made.bytes_before, made.bytes_after
    print_summary(
        {"bytes_before": before, "bytes_after": after},
        f"{before:,} bytes before, {after:,} after",
        output_format,
    )


@command()
@format_option()
@common_options
def upgrade(output_format: str) -> None:
    """Bring a store of an older simstore to the present schema; a backup is made first.

    Example:
      simstore --db old.db upgrade
    """
    from simstore.store import upgrade_store

    with progress("upgrade"):
        done = upgrade_store(store_place())
    before, after, kept = done.revision_before, done.revision_after, done.backup
    where = "" if kept is None else f"; the old store is kept as {printable(str(kept))}"
    print_summary(
        {
            "revision_before": before,
            "revision": after,
            "backup": None if kept is None else printable(str(kept)),
        },
        f"schema {after}: up to date"
        if before == after
        else f"schema {before} brought to {after}{where}",
        output_format,
    )


@command()
@format_option()
@common_options
def fsck(output_format: str) -> None:
    """Check every invariant of the store; exit code 6 and the remedies where one is broken.

    Examples:
      simstore fsck
      simstore fsck --format jsonl  an object a finding; none: it is sound
    """
    with open_store() as store, progress("check") as show:
        findings = store.maintenance.fsck(show)
    if output_format == "table":
        for finding in findings:
            line = f"{finding.invariant}: {printable(finding.detail)} -- {finding.remedy}"
            click.echo(line, file=sys.stdout)
        if not findings:
            click.echo("sound")
    else:
        names = ("invariant", "detail", "remedy")
        rows = ((one.invariant, printable(one.detail), one.remedy) for one in findings)
        print_rows(names, rows, output_format)
    if findings:
        raise SystemExit(6)
