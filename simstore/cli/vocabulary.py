"""The commands ``simstore vocabulary``: features of all documents, and generations."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from simstore.cli.options import common_options, format_option, open_store
from simstore.cli.output import print_record, print_rows, progress
from simstore.cli.parameters import count, flag
from simstore.errors import printable


@click.group()
def vocabulary() -> None:
    """The features of all stored documents, and the generations made of them."""


@vocabulary.command()
@format_option("table", "json")
@common_options
def status(output_format: str) -> None:
    """Show how far the standing generation has drifted from the vocabulary."""
    with open_store() as store:
        print_record(asdict(store.vocabulary.status()), output_format)


@vocabulary.command()
@flag("--force", "Even where the standing generation is up to date.")
@common_options
def refresh(force: bool) -> None:
    """Build the next generation beside the standing one, and switch to it.

    Queries go on with the old one. After an interruption, the same command goes on.
    """
    with open_store() as store, progress("refresh") as show:
        summary = store.vocabulary.refresh(force=force, on_progress=show)
    what = "stands now" if summary.switched else "stands already"
    number = (
        "no generation" if summary.generation_id is None else f"generation {summary.generation_id}"
    )
    click.echo(f"{number} {what}: {summary.document_count:,} documents")


@vocabulary.command("show")
@count("--top", "How many.", default=50)
@format_option("table", "jsonl", "csv")
@common_options
def show_terms(top: int, output_format: str) -> None:
    """Show the most frequent features, ties by their bytes."""
    with open_store() as store:
        terms = store.vocabulary.terms(top)
    rows = [
        (number, printable(term.term), term.total_count, term.document_count, term.rank)
        for number, term in enumerate(terms, 1)
    ]
    columns = ("number", "term", "occurrences", "documents", "rank")
    print_rows(columns, rows, output_format)


@vocabulary.command()
@click.argument("policy", type=click.Choice(["live", "frozen"]))
@common_options
def policy(policy: Any) -> None:
    """Choose live (ingest and removal refresh the store) or frozen (only `refresh` does)."""
    with open_store() as store:
        store.vocabulary.set_policy(policy)
    click.echo(f"policy {policy}")
