"""The commands ``simstore vocabulary``: show feature counts, refresh fingerprints made of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from simstore.cli.options import common_options, format_option, open_store
from simstore.cli.output import progress
from simstore.cli.parameters import command_group, count, flag
from simstore.cli.results import limited, print_record, print_rows, print_summary
from simstore.errors import counted, printable


@command_group()
def vocabulary() -> None:
    """The features of all stored documents, and the generations made of them."""


@vocabulary.command()
@format_option()
@common_options
def status(output_format: str) -> None:
    """Show how far the standing generation has drifted.

    Example:
      simstore vocabulary status --format json
    """
    with open_store() as store:
        print_record(asdict(store.vocabulary.status()), output_format)


@vocabulary.command()
@flag("--anyway", "Even where the standing generation is up to date.")
@format_option()
@common_options
def refresh(anyway: bool, output_format: str) -> None:
    """Build the next generation, and switch to it.

    It is built beside the standing one. Queries go on with the old one. After an interruption, the
    same command goes on.

    Example:
      simstore vocabulary refresh
    """
    with open_store() as store, progress("refresh") as show:
        summary = store.vocabulary.refresh(force=anyway, on_progress=show)
    what = "stands now" if summary.switched else "stands already"
    number = (
        "no generation" if summary.generation_id is None else f"generation {summary.generation_id}"
    )
    print_summary(
        asdict(summary),
        f"{number} {what}: {counted(summary.document_count, 'document')}",
        output_format,
    )


@vocabulary.command("show")
@count("--limit top", "How many.", default=50)
@format_option()
@common_options
def show_terms(top: int, output_format: str) -> None:
    """Show the most frequent features, ties by their bytes.

    Example:
      simstore vocabulary show --limit 10
    """
    with open_store() as store:
        terms = list(limited(store.vocabulary.terms(top + 1), top, "feature"))
    rows = [
        (number, printable(term.term), term.total_count, term.document_count, term.rank)
        for number, term in enumerate(terms, 1)
    ]
    columns = ("number", "term", "occurrences", "documents", "rank")
    print_rows(columns, rows, output_format)


@vocabulary.command()
@click.argument("policy", type=click.Choice(["live", "frozen"]))
@format_option()
@common_options
def policy(policy: Any, output_format: str) -> None:
    """Choose when the store is refreshed: live, or frozen.

    live: by each ingest and removal; frozen: only by `simstore vocabulary refresh`.

    Example:
      simstore vocabulary policy frozen
    """
    with open_store() as store:
        store.vocabulary.set_policy(policy)
    print_summary({"policy": policy}, f"policy {policy}", output_format)
