"""``simstore runs``."""

from __future__ import annotations

import click

from simstore.cli.options import common_options, format_option, open_store
from simstore.cli.output import print_table, time_text
from simstore.reports.lines import to_json

_COUNTS = ("added", "updated", "unchanged", "flagged", "skipped", "duplicates", "rejected")


@click.command()
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="How many.",
)
@format_option("table", "jsonl")
@common_options
def runs(limit: int, output_format: str) -> None:
    """List the latest ingest runs: when, from where, how they ended, what they did."""
    with open_store(read_only=True, served=True) as store:
        found = store.ingest_runs(limit)
    if output_format == "jsonl":
        for run in found:
            click.echo(to_json(run))
        return
    print_table(
        ("run", "started", "state", *_COUNTS, "sources"),
        (
            (
                run["run_id"],
                time_text(run["started_at"]),
                run["state"],
                *(run[name] for name in _COUNTS),
                " ".join(run["sources"][:3]) + (" ..." if len(run["sources"]) > 3 else ""),
            )
            for run in found
        ),
    )
