"""The commands that make, measure, copy and maintain a store: ``init``, ``stats``, ``pack`` ..."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import click

from simstore.cli.messages import log
from simstore.cli.options import (
    bands_of,
    channel_names,
    channels_option,
    check_duplicate_options,
    common_options,
    duplicate_options,
    format_option,
    keep_columns_option,
    open_store,
    store_place,
)
from simstore.cli.output import print_facts, progress, time_text
from simstore.cli.parameters import choice, command, flag, option
from simstore.cli.remote import refuse_served
from simstore.cli.scheme_options import (
    choice_here,
    create_here,
    scheme_choice,
    scheme_options,
)
from simstore.errors import printable, shown_place
from simstore.reports.lines import to_json


@command()
@scheme_options
@channels_option("both")
@choice(
    "--policy",
    ("live", "frozen"),
    "simtool, and web with idf: live refreshes after each ingest and removal; frozen only "
    "when told to.",
    default="live",
)
@choice(
    "--on-duplicate",
    ("keep", "flag", "skip"),
    "What `ingest` does with a duplicate of a stored document, where it is not told: flag "
    "stores it too, skip only what it duplicates.",
    default="keep",
)
@duplicate_options
@flag("--no-text", "Keep no texts.")
@flag("--no-vocabulary", "web: do not count the terms of the store.")
@keep_columns_option
@flag(
    "--fingerprints-only",
    "Hold fingerprints made elsewhere and no documents; takes --bits and --keep-columns.",
)
@common_options
def init(
    channels: str,
    policy: Any,
    on_duplicate: Any,
    min_resemblance: float | None,
    radius: int | None,
    no_text: bool,
    no_vocabulary: bool,
    keep_columns: bool,
    fingerprints_only: bool,
    **scheme: Any,
) -> None:
    """Make a new store and choose its scheme.

    It is simtool where hashvalue.txt and stopwords.txt lie in the current directory, else web;
    --scheme chooses another, and the other options refine it.

    Examples:
      simstore init                                            scheme web, 64 bits
      simstore init -N 1000 -M 16                              beside hashvalue.txt and
                                                               stopwords.txt: simtool
      simstore init --db small.db --no-text                    keep no texts
      simstore init --fingerprints-only --bits 128             fingerprints made elsewhere
    """
    from simstore.store import Store

    check_duplicate_options(on_duplicate, min_resemblance, radius)
    if fingerprints_only:
        bits = scheme.pop("bits")
        others = no_text or no_vocabulary or channels != "both" or on_duplicate != "keep"
        if scheme_choice(**scheme) is not None or others:
            raise click.UsageError(
                "--fingerprints-only takes --bits and --keep-columns alone: it holds no documents"
            )
        Store.create(
            store_place(), fingerprints_only=True, bits=bits, keep_columns=keep_columns
        ).close()
        log.info(
            "made %s: fingerprints only, M = %d; add some by `simstore fingerprints add`",
            shown_place(store_place()),
            64 if bits is None else bits,
        )
        return
    create_here(
        scheme_choice(**scheme),
        is_named=scheme["name"] is not None,
        channels=channel_names(channels),
        policy=policy,
        on_duplicate=on_duplicate,
        min_resemblance=min_resemblance,
        radius=radius,
        text=not no_text,
        vocabulary=not no_vocabulary,
        keep_columns=keep_columns,
    )


@command()
@option(
    "--plot",
    "Draw documents, duplicates, clusters, distances and vocabulary: FILE.png, FILE.svg, or a "
    "folder that exists, for a picture of each. Clusters are those that `simstore clusters` keeps.",
    metavar="FILE-OR-FOLDER",
)
@flag("--force", "Replace pictures that are there.")
@flag("--sizes", "Count the bytes of texts, sketches and passages, too; all of them are read.")
@format_option("table", "json")
@common_options
def stats(plot: str | None, force: bool, sizes: bool, output_format: str) -> None:
    """Show the store in numbers, and over time in pictures.

    Examples:
      simstore stats                            in numbers
      simstore stats --sizes                    with what texts and sketches take
      simstore stats --plot store.png           and over time, in one picture
      simstore stats --plot pictures/           in a folder that exists: a picture each
      simstore stats --plot s.svg --format json with the figures behind it

    Pictures need Matplotlib (pip install 'simstore[plots]').
    """
    if force and plot is None:
        raise click.UsageError("--force replaces what --plot draws: give that too")
    refuse_served(["plot"])
    figures = None
    with open_store(read_only=True, served=True) as store:
        found = store.stats(sizes=sizes)
        scheme = store.maintenance.scheme()
        if plot is not None:
            from simstore.cli.plots import check_plot, write_plots

            check_plot(plot, replace=force)
            with progress("count") as show:
                figures = store.maintenance.stats_over_time(on_progress=show)
            write_plots(
                plot,
                figures,
                f"{printable(found.path)}, {found.document_count:,} documents",
                replace=force,
            )
    record: dict[str, Any] = {}
    for name, value in asdict(found).items():
        record[name] = value
        if name == "bits":
            record["scheme_options"] = {n: v for n, v in scheme.record().items() if n not in record}
    if output_format == "json":
        if figures is not None:
            record["figures"] = figures.record()
        click.echo(to_json(record, indent=2))
        return
    record["scheme_options"] = ", ".join(_words_of(record["scheme_options"]))
    record["first_seen"] = time_text(found.first_seen)
    record["last_seen"] = time_text(found.last_seen)
    record["file_bytes_per_document"] = (
        found.file_bytes // found.document_count if found.document_count else None
    )
    print_facts((name.replace("_", " "), value) for name, value in record.items())


def _words_of(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield each option of a scheme as name and value."""
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _words_of(value)
        elif isinstance(value, list):
            yield from (f"{name.removesuffix('s')} {printable(one)}" for one in value)
        else:
            yield f"{name.replace('_', ' ')} {value}"


@command()
@scheme_options
@channels_option(None)
@flag("--resume", "Go on with a reindex that was interrupted.")
@flag("--abort", "Give up a reindex that was interrupted.")
@common_options
def reindex(channels: str | None, resume: bool, abort: bool, **scheme: Any) -> None:
    """Make all fingerprints and sketches anew from the kept texts, by any scheme.

    Queries go on with the old ones until the switch; new documents are refused. Where it was
    interrupted, the same command goes on.

    Examples:
      simstore reindex                            the same scheme, computed anew
      simstore reindex --scheme web --bits 128    longer fingerprints
      simstore reindex --channels both            sketches for a store that has none
      simstore reindex --resume                   go on after an interruption
    """
    choice = scheme_choice(**scheme)
    if (resume or abort) and (choice is not None or channels is not None):
        raise click.UsageError("--resume and --abort take no scheme: it was chosen at the start")
    if resume and abort:
        raise click.UsageError("choose --resume or --abort")
    with open_store() as store:
        if abort:
            store.maintenance.abort_reindex()
            click.echo("given up; the store stands as before")
            return
        with progress("reindex") as show:
            label = store.maintenance.reindex(
                choice_here(choice),
                channels=None if channels is None else channel_names(channels),
                resume=resume,
                on_progress=show,
            )
    click.echo(f"scheme {label} stands")


@command()
@click.argument("target", type=click.Path(), metavar="FILE")
@flag("--force", "Replace an older copy.")
@common_options
def backup(target: str, force: bool) -> None:
    """Copy the store, while others use it, and check the copy."""
    with open_store() as store, progress("backup") as show:
        size = store.maintenance.backup(target, replace=force, on_progress=show)
    click.echo(f"{printable(target)}: {size:,} bytes, checked")


@command()
@option(
    "--bands",
    "Cut sketches into B bands of R values from now on; at most 128 values.",
    metavar="BxR",
)
@common_options
def compact(bands: str | None) -> None:
    """Pack the sketches, and give unused space back to the file system.

    Examples:
      simstore compact                  after many removals
      simstore compact --bands 21x6     fewer candidates, less found below 0.8
    """
    layout = bands_of(bands)
    with open_store() as store, progress("compact", at_once=False) as show:
        found = store.maintenance.compact(layout, on_progress=show)
    click.echo(f"{found.bytes_before:,} bytes before, {found.bytes_after:,} after")


@command()
@flag("--fingerprints fingerprints_only", "Only fingerprints.")
@flag("--sketches sketches_only", "Only the bands of sketches.")
@flag(
    "--keep-columns keep",
    "From now on packed fingerprints have indexed segment columns too, for SQL.  "
    "[default: as `init` was told]",
)
@flag("--drop-columns drop", "From now on they have none.")
@common_options
def pack(fingerprints_only: bool, sketches_only: bool, keep: bool, drop: bool) -> None:
    """Put fingerprints and sketches into pages, which are smaller and faster than rows.

    Examples:
      simstore pack                     fingerprints and sketches
      simstore pack --fingerprints      fingerprints alone
      simstore pack --keep-columns      and keep segment columns beside the pages

    An ingest packs long tails at its end: of sketches, and from a million of them on of
    fingerprints. The answers are the same before, meanwhile and after.
    """
    if keep and drop:
        raise click.UsageError("give one of --keep-columns and --drop-columns")
    if fingerprints_only and sketches_only:
        raise click.UsageError("--fingerprints or --sketches: without either, both are packed")
    with open_store() as store, progress("pack") as show:
        packed = store.maintenance.pack(
            fingerprints=not sketches_only,
            sketches=not fingerprints_only,
            columns=True if keep else False if drop else None,
            on_progress=show,
        )
        total = store.stats().packed_fingerprints
    if sketches_only:
        click.echo("sketches packed")
    else:
        click.echo(f"{packed:,} fingerprints packed, {total:,} in pages")


@command()
@common_options
def unpack() -> None:
    """Put packed fingerprints back into plain rows, which any SQLite shell can query."""
    with open_store() as store, progress("unpack") as show:
        unpacked = store.maintenance.unpack(on_progress=show)
    click.echo(f"{unpacked:,} fingerprints unpacked")


@command()
@common_options
def upgrade() -> None:
    """Bring a store of an older simstore to the present schema; a backup is made first."""
    from simstore.store import upgrade_store

    with progress("upgrade"):
        found = upgrade_store(store_place())
    before, after, kept = found.revision_before, found.revision_after, found.backup
    if before == after:
        click.echo(f"schema {after}: up to date")
    else:
        where = "" if kept is None else f"; the old store is kept as {printable(str(kept))}"
        click.echo(f"schema {before} brought to {after}{where}")
        with open_store(read_only=True) as store:
            channels = store.stats().channels
        if "minhash" not in channels:
            log.info(
                "it finds documents by fingerprints alone, as before; "
                "`simstore reindex --channels both` adds sketches"
            )


@command()
@common_options
def fsck() -> None:
    """Check every invariant of the store; exit code 6 and the remedies where one is broken."""
    with open_store() as store, progress("check") as show:
        findings = store.maintenance.fsck(show)
    for finding in findings:
        click.echo(f"{finding.invariant}: {printable(finding.detail)} -- {finding.remedy}")
    if findings:
        raise SystemExit(6)
    click.echo("sound")


@command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@flag("--restart", "Begin again, whatever was copied before.")
@common_options
def copy(source: str, target: str, restart: bool) -> None:
    """Copy a store to another place: a file or a PostgreSQL database.

    Examples:
      simstore copy store.db postgresql+psycopg://me@host/pages    from a file to a server
      simstore copy postgresql+psycopg://me@host/pages store.db    and back
      simstore copy old.db new.db                                 from file to file

    The copy is as the store is when it begins; others may go on reading and writing. After an
    interruption the same command goes on where it was, if the store has not changed. A copy is a
    store only when all of it is there, its counts and digests those of the source. Passwords of
    servers go into a password file (PGPASSFILE), not on the command line.
    """
    from simstore.store import copy_store

    with progress("copy") as show:
        made = copy_store(source, target, restart=restart, on_progress=show)
    click.echo(
        f"copied {made.document_count:,} documents, {made.row_count:,} rows of "
        f"{made.table_count} tables to {shown_place(target)}; counts and digests are the same"
    )
