"""The commands ``simstore rejects``: list, show, retry and clear records that were not stored."""

from __future__ import annotations

from typing import Any

import click

from simstore.cli.ingest_output import ingest_observed, report, stop_on_signal
from simstore.cli.options import common_options, format_option, open_store, yes_option
from simstore.cli.output import confirm, time_text
from simstore.cli.parameters import command_group, completed, option
from simstore.cli.results import print_record, print_rows, print_summary
from simstore.cli.source_options import (
    history_options,
    reading_options,
    take_read_options,
    with_remedy,
)
from simstore.errors import NotFound, printable


@command_group()
def rejects() -> None:
    """Records that could not be stored, and why."""


@rejects.command("list")
@format_option()
@common_options
def list_rejects(output_format: str) -> None:
    """List the rejected records of all sources, as last read.

    Example:
      simstore rejects list --format csv > rejects.csv
    """
    with open_store(read_only=True, served=True) as store:
        found = store.rejects.list()
    columns = ("reject", "source", "record", "byte", "reason")
    rows = [
        (
            one.reject_id,
            one.rejection.source,
            one.rejection.position,
            one.rejection.byte_offset,
            with_remedy(one.rejection.reason),
        )
        for one in found
    ]
    print_rows(columns, rows, output_format, drop=("byte", "record"))


@rejects.command("show")
@click.argument("number", type=int, metavar="REJECT", shell_complete=completed("reject"))
@format_option()
@common_options
def show_reject(number: int, output_format: str) -> None:
    """Show one rejected record with its first bytes.

    Example:
      simstore rejects show 3
    """
    with open_store(read_only=True, served=True) as store:
        found = store.rejects.list(number)
    if not found:
        raise NotFound(f"no reject has the number {number}; `simstore rejects list` shows them")
    one = found[0]
    record = {
        "reject": one.reject_id,
        "source": printable(one.rejection.source),
        "record": one.rejection.position,
        "byte": one.rejection.byte_offset,
        "reason": with_remedy(one.rejection.reason),
        "ingest_run": one.run_id,
        "rejected_at": time_text(one.rejected_at),
        "first_bytes": one.rejection.head.decode("utf-8", "backslashreplace"),
    }
    print_record(record, output_format)


@rejects.command()
@click.argument(
    "numbers", nargs=-1, type=int, metavar="[REJECT]...", shell_complete=completed("reject")
)
@reading_options
@history_options
@option(
    "--collection",
    "Collection of documents that name none.",
    metavar="NAME",
    shell_complete=completed("collection"),
)
@format_option()
@common_options
def retry(
    numbers: tuple[int, ...], collection: str | None, output_format: str, **reading: Any
) -> None:
    """Read rejected records again, and store what can be used.

    They are read from where they stand. A source that has changed since must be ingested again
    instead.

    Examples:
      simstore rejects retry                                    all of them
      simstore rejects retry 3 4 --max-document-bytes 50000000  two too long ones
    """
    from simstore.services.ingest.ingest import IngestOptions

    read = take_read_options(reading)
    options = IngestOptions(collection)
    with open_store() as store, stop_on_signal() as stopping:
        summary = ingest_observed(
            lambda observer: store.rejects.retry(
                *numbers, read=read, options=options, observer=observer
            ),
            stopping,
        )
    report(summary, stopping, output_format)


@rejects.command()
@yes_option
@format_option()
@common_options
def clear(yes: bool, output_format: str) -> None:
    """Forget all rejected records.

    Example:
      simstore rejects clear --yes

    It asks first; without a terminal it wants --yes.
    """
    with open_store() as store:
        if count := len(store.rejects.list()):
            confirm(f"all rejected records would be forgotten: {count:,}", yes=yes)
            count = store.rejects.clear()
    print_summary({"forgotten": count}, f"{count:,} forgotten", output_format)
