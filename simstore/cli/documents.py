"""``simstore list``, ``show`` and ``remove``."""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict
from typing import Any

import click

from simstore.cli.options import common_options, format_option, open_store
from simstore.cli.output import print_facts, print_table, progress, time_text
from simstore.errors import printable
from simstore.reports.lines import to_json

_COLUMNS = ("key", "fingerprint", "bytes", "tokens", "first seen", "duplicate of")


@click.command("list")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N.")
@click.option("--collection", metavar="NAME", help="Only documents of this collection.")
@format_option("table", "keys", "jsonl", "csv")
@common_options
def list_documents(limit: int | None, collection: str | None, output_format: str) -> None:
    """List the stored documents in order of ingest."""
    with open_store(read_only=True) as store:
        found = store.documents(collection=collection, limit=limit)
        if output_format == "keys":
            for document in found:
                sys.stdout.buffer.write(document.key.encode("utf-8", "surrogateescape") + b"\n")
            sys.stdout.buffer.flush()
        elif output_format == "jsonl":
            for document in found:
                click.echo(to_json(_record(document)))
        else:
            rows = (
                (
                    printable(document.key),
                    document.fingerprint,
                    document.byte_count,
                    document.token_count,
                    time_text(document.first_seen),
                    None if document.duplicate_of is None else printable(document.duplicate_of),
                )
                for document in found
            )
            if output_format == "csv":
                writer = csv.writer(sys.stdout, lineterminator="\n")
                writer.writerow([name.replace(" ", "_") for name in _COLUMNS])
                writer.writerows(rows)
            else:
                print_table(_COLUMNS, rows)


@click.command()
@click.argument("key")
@click.option("--text", "with_text", is_flag=True, help="Print the kept text, and nothing else.")
@format_option("table", "json")
@common_options
def show(key: str, with_text: bool, output_format: str) -> None:
    """Show what the store knows of a document."""
    with open_store(read_only=True) as store:
        document = store.show(key, with_text=with_text)
    if with_text:
        if document.text is None:
            raise click.ClickException("this store keeps no texts (it was made with --no-text)")
        sys.stdout.buffer.write(document.text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
        return
    record = _record(document)
    if output_format == "json":
        click.echo(to_json(record, indent=2))
        return
    record["first_seen"] = time_text(document.first_seen)
    record["last_seen"] = time_text(document.last_seen)
    record["metadata"] = to_json(record["metadata"])
    print_facts((name.replace("_", " "), value) for name, value in record.items())


def _record(document: Any) -> dict[str, Any]:
    record = asdict(document)
    record.pop("text")
    for name in ("key", "source", "duplicate_of"):
        if record[name] is not None:
            record[name] = printable(record[name])
    return record


@click.command()
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@click.option("--no-refresh", is_flag=True, help="Leave a live store stale; refresh it later.")
@common_options
def remove(keys: tuple[str, ...], no_refresh: bool) -> None:
    """Remove documents: all that are named, or none where one is not there."""
    with open_store() as store, progress("refresh", at_once=False) as show_refresh:
        count = store.remove(*keys, refresh=not no_refresh, on_refresh=show_refresh)
    click.echo(f"{count:,} removed")
