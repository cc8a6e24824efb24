"""The command ``simstore ingest``: add documents of files, folders or databases to a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.ingest_output import ingest_observed, report, stop_on_signal
from simstore.cli.options import (
    check_duplicate_options,
    common_options,
    duplicate_options,
    format_option,
    measure_options,
    open_store,
)
from simstore.cli.output import progress
from simstore.cli.parameters import choice, command, completed, count, flag, option, section
from simstore.cli.remote import refuse_served, server_url
from simstore.cli.scheme_options import create_here, scheme_choice, scheme_options
from simstore.cli.source_options import (
    history_options,
    reading_options,
    take_read_options,
    tell_passed_over,
)
from simstore.errors import NotServed, StoreNotFound

if TYPE_CHECKING:
    from simstore.model import IngestSummary
    from simstore.services.ingest.ingest import Observer
    from simstore.store import Store

# Options of an ingest that a server decides by itself.
_OF_A_STORE = (
    "no_refresh", "threads", "synchronous", "no_text", "passages",
    "passage_simhash",
)  # fmt: skip


@command()
@click.argument("sources", nargs=-1, metavar="SOURCE...", shell_complete=completed("file"))
@section(
    "Reading",
    option("--collection", "Collection of documents that name none.", metavar="NAME"),
    option(
        "--key",
        "Key of the text of standard input.  [default: -@ and a digest of the text]",
        metavar="KEY",
    ),
    flag("--from-start", "Read all of a source that has grown, or whose reading was interrupted."),
    flag("--strict", "Stop at the first record that cannot be used."),
)
@reading_options
@history_options
@section(
    "Duplicates",
    choice(
        "--on-duplicate",
        ("keep", "flag", "skip"),
        "Look each document up first: flag stores a duplicate too, skip only what it duplicates.  "
        "[default: as `init` was told, else keep]",
    ),
)
@duplicate_options
@section("Duplicates", measure_options("With flag or skip: look"))
@section(
    "Passage index",
    flag(
        "--passages",
        "Index the passages of all documents, for `simstore check`; every later ingest goes on.",
    ),
    flag("--passage-simhash", "With --passages: a fingerprint of each passage besides."),
)
@section("A new store", flag("--no-text", "A new store keeps no texts."))
@scheme_options
@section(
    "Work",
    count("--threads", "Threads.  [default: processors, at most 4]"),
    choice(
        "--synchronous",
        ("full", "normal"),
        "normal: faster; a loss of power may undo the last commits.",
        default="full",
    ),
    flag("--no-refresh", "Leave a live store stale; refresh it later."),
    format_option(),
)
@common_options
def ingest(
    sources: tuple[str, ...],
    collection: str | None,
    key: str | None,
    strict: bool,
    no_refresh: bool,
    threads: int | None,
    synchronous: str,
    no_text: bool,
    on_duplicate: str | None,
    min_resemblance: float | None,
    radius: int | None,
    channels: tuple[str, ...],
    short_texts: bool,
    from_start: bool,
    passages: bool,
    passage_simhash: bool,
    output_format: str,
    **given: Any,
) -> None:
    """Remember the documents of files, folders, patterns, or standard input (-).

    Where there is no store, one is made: of the scheme simtool (N = 1000, M = 64 unless -N and -M
    say otherwise) where hashvalue.txt and stopwords.txt lie in the current directory, else web;
    --scheme chooses another.

    Examples:
      simstore ingest article.txt                pages separated by form feeds
      simstore ingest crawl.jsonl.zst notes/  JSON Lines, a folder of .txt files
      simstore ingest corpus.zip data/*.parquet  archives, tables
      zcat pages.txt.gz | simstore ingest -      standard input
      simstore ingest day.jsonl --seen-field crawled --links-field links

    The same command again, after an interruption or a full disk, goes on where the last commit
    ended; documents that are stored already are left as they are.
    """
    from simstore.services.ingest.ingest import IngestOptions

    refuse_served(_OF_A_STORE)
    read = take_read_options(given)
    if not sources:
        raise click.UsageError("name a SOURCE: a file, a folder, a pattern, or -")
    # Before a store is made: are the sources there?
    tell_passed_over(sources, read)
    if passage_simhash and not passages:
        raise click.UsageError("--passage-simhash goes with --passages")
    check = partial(check_duplicate_options, on_duplicate, min_resemblance, radius, channels)
    # A store may have been told what to do with duplicates; a new one keeps them.
    if on_duplicate is not None:
        check()
    options = IngestOptions(
        collection,
        strict,
        not no_refresh,
        threads,
        on_duplicate=on_duplicate,  # type: ignore[arg-type]
        min_resemblance=min_resemblance,
        from_start=from_start,
        radius=radius,
        channels=channels,
        short_texts=short_texts,
        input_key=key,
    )
    with (
        _store(given, no_text, synchronous, check, radius) as store,
        stop_on_signal() as stopping,
    ):

        def run(observer: Observer) -> IngestSummary:
            return store.ingest(sources, read=read, options=options, observer=observer)

        if passages:
            with progress("passages", at_once=False) as show:
                store.passages.build(fingerprints=passage_simhash or None, on_progress=show)
        summary = ingest_observed(run, stopping)
    report(summary, stopping, output_format)


@contextmanager
def _store(
    scheme: dict[str, Any],
    no_text: bool,
    synchronous: str,
    before_making: Callable[[], None],
    radius: int | None,
) -> Iterator[Store]:
    chosen = scheme_choice(**scheme)
    if server_url() is not None:
        if chosen is not None:
            raise NotServed("the choice of a scheme")
        with open_store(served=True) as store:
            yield store
        return
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store(synchronous=synchronous))
        except StoreNotFound:
            before_making()
            create_here(
                chosen,
                is_named=scheme["name"] is not None,
                exist_ok=True,
                asked_radius=radius,
                text=not no_text,
            )
            # Another process may have made it meanwhile.
            store = stack.enter_context(open_store(synchronous=synchronous))
        if chosen is not None and scheme["name"] is None:
            chosen = replace(chosen, name=store.maintenance.scheme().name)
        store.maintenance.check_options(chosen, text=not no_text)
        yield store
