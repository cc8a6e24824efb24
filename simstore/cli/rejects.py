"""The commands ``simstore rejects``: records that could not be stored."""

from __future__ import annotations

from typing import Any

import click

from simstore.cli.ingest_output import ingest_observed, report, stop_on_signal
from simstore.cli.options import common_options, format_option, open_store
from simstore.cli.output import print_facts, print_rows, time_text
from simstore.cli.parameters import command_group, option
from simstore.cli.source_options import history_options, reading_options, take_read_options
from simstore.errors import NotFound


@command_group()
def rejects() -> None:
    """Records that could not be stored, and why."""


@rejects.command("list")
@format_option("table", "jsonl")
@common_options
def list_rejects(output_format: str) -> None:
    """List the rejected records of all sources, as last read."""
    with open_store(read_only=True, served=True) as store:
        found = store.rejects.list()
    columns = ("reject", "source", "record", "byte", "reason")
    rows = [
        (
            one.reject_id,
            one.rejection.source,
            one.rejection.position,
            one.rejection.byte_offset,
            one.rejection.reason,
        )
        for one in found
    ]
    print_rows(columns, rows, output_format)


@rejects.command("show")
@click.argument("number", type=int, metavar="REJECT")
@common_options
def show_reject(number: int) -> None:
    """Show one rejected record with its first bytes."""
    with open_store(read_only=True, served=True) as store:
        found = store.rejects.list(number)
    if not found:
        raise NotFound(f"no reject has the number {number}; `simstore rejects list` shows them")
    one = found[0]
    print_facts(
        (
            ("source", one.rejection.source),
            ("record", one.rejection.position),
            ("byte", one.rejection.byte_offset),
            ("reason", one.rejection.reason),
            ("ingest run", one.run_id),
            ("rejected at", time_text(one.rejected_at)),
            ("first bytes", one.rejection.head.decode("utf-8", "backslashreplace")),
        )
    )


@rejects.command()
@click.argument("numbers", nargs=-1, type=int, metavar="[REJECT]...")
@reading_options
@history_options
@option("--collection", "Collection of documents that name none.", metavar="NAME")
@common_options
def retry(numbers: tuple[int, ...], collection: str | None, **reading: Any) -> None:
    """Read rejected records again, from where they stand, and store those that can be used now.

    A source that has changed since must be ingested again instead.

    Examples:
      simstore rejects retry                                    all of them
      simstore rejects retry 3 4 --max-document-bytes 50000000  two that were too long
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
    report(summary, stopping)


@rejects.command()
@common_options
def clear() -> None:
    """Forget all rejected records."""
    with open_store() as store:
        count = store.rejects.clear()
    click.echo(f"{count:,} forgotten")
