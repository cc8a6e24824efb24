"""The command ``simstore dedup``: write the rows of files without their near-duplicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.messages import log
from simstore.cli.options import (
    RADIUS_DEFAULT,
    bands_of,
    channel_names,
    channels_option,
    common_options,
    format_option,
    open_store,
    store_is_named,
    store_place,
)
from simstore.cli.output import progress, refuse_store
from simstore.cli.parameters import choice, command, completed, count, flag, option, section
from simstore.cli.results import print_summary
from simstore.cli.source_options import (
    log_ignored,
    reading_options,
    take_read_options,
    with_remedy,
)
from simstore.errors import InvalidParameter, StoreNotFound, counted, printable, shown_place

if TYPE_CHECKING:
    from simstore.model import Rejection
    from simstore.services.dedup.options import RowSummary
    from simstore.store import Store

# Of rows that cannot be read so many are told one by one.
_SHOWN = 10


@command()
@click.argument(
    "inputs", nargs=-1, required=True, metavar="INPUT...", shell_complete=completed("file")
)
@section(
    "Output",
    option(
        "-o --output",
        "What is written: a file; a folder, with a file for each input, where it is one, ends in "
        "/, or inputs are texts or a data set; - is standard output.",
        required=True,
        metavar="OUTPUT",
        shell_complete=completed("file"),
    ),
    flag(
        "--mark",
        "Keep all rows, and add the columns duplicate_of, resemblance and cluster.",
    ),
    option(
        "--log log_file",
        "Write each row that is dropped, of which it is a duplicate, and how alike they are; "
        "JSON Lines.",
        metavar="FILE",
        shell_complete=completed("file"),
    ),
    option(
        "--rejects",
        "Write the rows that cannot be read, and why; JSON Lines.",
        metavar="FILE",
        shell_complete=completed("file"),
    ),
    choice(
        "--on-reject",
        ("drop", "keep"),
        "What becomes of rows that cannot be read: keep writes them as they are.",
        default="drop",
    ),
    flag("--force", "Take the place of files that are there; begin anew where needed."),
    format_option(),
)
@section(
    "Duplicates",
    option(
        "--min-resemblance",
        "Least resemblance of a row that is dropped to the one that is kept.",
        type=click.FloatRange(0, 1, min_open=True),
        default=0.5,
        metavar="SHARE",
    ),
    option(
        "--policy",
        "Which row of a group is kept: first, longest, or prefer:REGEX (the first whose key has a "
        "match, else the first).",
        default="first",
        metavar="POLICY",
    ),
    option(
        "-k --radius",
        f"Radius within which fingerprints are compared.  {RADIUS_DEFAULT}",
        type=click.IntRange(min=0),
        metavar="BITS",
    ),
    channels_option("both"),
    option("--bands", "Bands of sketches.  [default: 42x3]", metavar="BxR"),
)
@reading_options
@section("Work", count("--threads", "Threads.  [default: processors, at most 4]"))
@common_options
def dedup(
    inputs: tuple[str, ...],
    output: str,
    mark: bool,
    log_file: str | None,
    rejects: str | None,
    on_reject: str,
    force: bool,
    output_format: str,
    min_resemblance: float,
    policy: str,
    radius: int | None,
    channels: str,
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
      simstore --db seen.db dedup day-2.jsonl -o new.jsonl

    With --db rows that duplicate a document of the store are dropped too, and those that are kept
    are added to it; where there is no store, one is made. Without --db nothing is left behind. The
    same command again, after an interruption or a full disk, goes on where it was: its state is
    in OUTPUT.partial meanwhile.
    """
    read = take_read_options(given)

    from simstore.fingerprint.minhash import DEFAULT_LAYOUT, BandLayout
    from simstore.services.dedup.dedup import dedup_files
    from simstore.services.dedup.options import RowObserver, RowOptions

    layout = bands_of(bands)
    options = RowOptions(
        min_resemblance=min_resemblance,
        policy=policy,
        channels=channel_names(channels),
        radius=radius,
        layout=DEFAULT_LAYOUT if layout is None else BandLayout(*layout),
        mark=mark,
        on_reject=on_reject,  # type: ignore[arg-type]
        log=log_file,
        rejects=rejects,
        force=force,
        threads=threads,
        read=read,
    )
    has_store = store_is_named(by_option=True)
    if has_store and (radius is not None or bands is not None or channels != "both"):
        raise InvalidParameter(
            "--radius, --channels and --bands are those of the store: leave them out with --db"
        )
    told = 0

    def tell_rejection(row: Rejection) -> None:
        nonlocal told
        told += 1
        if told <= _SHOWN:
            log.warning(
                "rejected: %s, record %d: %s",
                printable(row.source),
                row.position,
                with_remedy(row.reason),
            )

    with ExitStack() as stack:
        show = stack.enter_context(_stages())
        observer = RowObserver(
            on_progress=show.progress,
            on_stage=show.begin,
            on_reject=tell_rejection,
            on_pass_over=log_ignored,
        )
        opened = None
        if has_store:
            from pathlib import Path

            for path in filter(None, (output, log_file, rejects)):
                refuse_store(Path(path))
            opened = stack.enter_context(_store())._opened
        summary = dedup_files(list(inputs), output, options, observer, store=opened)
    _report(summary, output, options.mark, output_format, told, rejects)


class _Stages:
    """Shows how far each stage of a run is."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._update: Callable[[int, int | None], None] = lambda _done, _total: None

    def begin(self, stage: str) -> None:
        """Show a bar of its own for a stage."""
        self.close()
        self._update = self._stack.enter_context(progress(stage, in_bytes=stage == "read"))

    def progress(self, done: int, total: int | None) -> None:
        """Show how much is done."""
        self._update(done, total)

    def close(self) -> None:
        """Take the bar back."""
        self._stack.close()


@contextmanager
def _stages() -> Iterator[_Stages]:
    stages = _Stages()
    try:
        yield stages
    finally:
        stages.close()


@contextmanager
def _store() -> Iterator[Store]:
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store())
        except StoreNotFound:
            from simstore.cli.scheme_options import create_here

            create_here(None, is_named=True, exist_ok=True)
            log.info("made %s", shown_place(store_place()))
            store = stack.enter_context(open_store())
        yield store


def _report(
    summary: RowSummary,
    output: str,
    mark: bool,
    output_format: str,
    told: int,
    rejects: str | None,
) -> None:
    from dataclasses import asdict

    from simstore.outputs import is_standard_output

    dropped = "marked as near-duplicates" if mark else "dropped"
    line = (
        f"{counted(summary.read, 'row')}: {summary.kept:,} kept, {summary.dropped:,} {dropped} "
        f"({counted(summary.clusters, 'group')}), {summary.rejected:,} rejected"
    )
    if summary.resumed_at:
        log.info("went on after %s", counted(summary.resumed_at, "row"))
    if is_standard_output(output):
        log.info("%s", line)
    else:
        print_summary(asdict(summary), line, output_format)
    if told > _SHOWN:
        log.warning("... and %d more were rejected", told - _SHOWN)
    if summary.rejected:
        if rejects is None:
            log.warning(
                "--rejects FILE keeps what cannot be read, --on-reject keep passes it through"
            )
        raise SystemExit(5)
