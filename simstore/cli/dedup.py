"""The command ``simstore dedup``: write the rows of files without their near-duplicates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from simstore.cli.options import (
    bands_of,
    bands_option,
    channel_names,
    channels_option,
    common_with,
    format_option,
    least_option,
    open_store,
    radius_option,
    short_texts_option,
    store_is_named,
)
from simstore.cli.output import refuse_store
from simstore.cli.parameters import command, count, files_argument, flag, option, section
from simstore.cli.row_output import output_option, row_options, row_outputs, shown_rows
from simstore.cli.source_options import reading_options
from simstore.errors import StoreNotFound, counted
from simstore.model.channels import DEFAULT_CHANNELS, DROP_RESEMBLANCE

if TYPE_CHECKING:
    from simstore.sources.reader import ReadOptions
    from simstore.store import Store


@command()
@files_argument("inputs", "INPUT...")
@section(
    "Output",
    output_option,
    flag(
        "--mark",
        "Keep all rows, and add the columns duplicate_of, resemblance and cluster.",
    ),
    *row_outputs,
    format_option(),
)
@section(
    "Duplicates",
    least_option(
        "Least resemblance of a row that is dropped to the one that is kept.",
        f"{DROP_RESEMBLANCE}; 0.5 by characters, or with --mark and without --db",
    ),
    option(
        "--policy",
        "Which row of a group is kept: first, longest, or prefer:REGEX (the first whose key has a "
        "match, else the first).",
        default="first",
        metavar="POLICY",
    ),
    radius_option(),
    channels_option(of_duplicates=True),
    short_texts_option,
    bands_option,
)
@reading_options
@section("Work", count("--threads", "Threads.  [default: processors, at most 4]"))
@common_with(
    "The store whose documents count, too; without --db none, whatever $SIMSTORE_DB names."
)
def dedup(
    inputs: tuple[str, ...],
    output: str,
    mark: bool,
    output_format: str,
    min_resemblance: float | None,
    policy: str,
    radius: int | None,
    channels: str,
    short_texts: bool,
    bands: str | None,
    threads: int | None,
    **given: Any,
) -> None:
    """Write the rows of files without their near-duplicates, each row as it was.

    Rows are those of JSON Lines, CSV, Parquet, Arrow, or texts of a folder, compressed or not. They
    keep their columns, types and order; those of JSON Lines and CSV are the very bytes. Of
    near-duplicates the first is kept.

    Examples:
      simstore dedup pages.jsonl -o unique.jsonl
      simstore dedup data/*.parquet -o unique/ --log dropped.jsonl
      simstore dedup reviews.csv.gz -o marked.csv.gz --mark
      zcat pages.jsonl.gz | simstore dedup - -o - > unique.jsonl
      simstore dedup scans.jsonl -o unique.jsonl --channels characters
      simstore --db seen.db dedup day-2.jsonl -o new.jsonl

    With --db rows that duplicate a document of the store are dropped too, and those that are kept
    are added to it; where there is no store, one is made. Without --db, before or behind the name
    of the command, no store is used, whatever SIMSTORE_DB names. The output appears when all of it
    is written. After an interruption the same command keeps the rows that it stored before.
    """
    from simstore.fingerprint.minhash import BandLayout
    from simstore.services.dedup.dedup import check_run, dedup_files

    layout = bands_of(bands)
    options = row_options(
        given,
        min_resemblance=min_resemblance,
        policy=policy,
        channels=channel_names(channels),
        radius=radius,
        short_texts=short_texts,
        layout=None if layout is None else BandLayout(*layout),
        mark=mark,
        threads=threads,
    )
    has_store = store_is_named(by_option=True)
    check_run(inputs, output, options, has_store=has_store)
    with ExitStack() as stack:
        shown = stack.enter_context(shown_rows())
        opened = None
        if has_store:
            refuse_store(output, options.log, options.rejects)
            opened = stack.enter_context(
                _store(inputs, options.read, options.stored_channels)
            )._opened
        summary = dedup_files(list(inputs), output, options, shown.observer, store=opened)
    dropped = "marked" if mark else "dropped"
    shown.report(
        summary,
        f"{summary.dropped:,} {dropped} ({counted(summary.clusters, 'group')})",
        output,
        output_format,
    )


@contextmanager
def _store(inputs: Sequence[str], read: ReadOptions, channels: tuple[str, ...]) -> Iterator[Store]:
    """Yield the store that is named; where there is none, make one for rows that can be read.

    Args:
        inputs: The rows.
        read: How they are read.
        channels: A new store has these beside the usual ones.
    """
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store())
        except StoreNotFound:
            from simstore.cli.scheme_options import create_here
            from simstore.rows.inputs import check_columns, open_rows
            from simstore.sources.streams import is_read_once

            files = [name for name in inputs if not is_read_once(name)]
            check_columns(open_rows(files, read)[0])
            create_here(None, is_named=True, exist_ok=True, channels=(*DEFAULT_CHANNELS, *channels))
            store = stack.enter_context(open_store())
        yield store
