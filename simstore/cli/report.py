"""``simstore report``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from simstore.cli.options import common_options, format_option, log, open_store
from simstore.cli.output import print_table, refuse_store, time_text, write_file
from simstore.errors import printable


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  simstore report                       the last query, to result.txt\n"
        "  simstore report --format csv -o -     as CSV, to standard output\n"
        "  simstore report --list                the queries that are kept"
    )
)
@click.argument("run_id", required=False, type=int, metavar="[RUN]")
@format_option("simtool", "jsonl", "csv")
@click.option(
    "-o",
    "--output",
    default="result.txt",
    show_default=True,
    metavar="FILE",
    help="Where to write; - is standard output.",
)
@click.option("--list", "list_runs", is_flag=True, help="List the latest query runs instead.")
@common_options
def report(run_id: int | None, output_format: str, output: str, list_runs: bool) -> None:
    """Write a query run, the last one unless another is named, to a file."""
    from simstore.reports.formats import RENDERERS

    with open_store(read_only=True) as store:
        if list_runs:
            print_table(
                ("run", "started", "sources", "radius", "samples", "matches"),
                (
                    (
                        run["run_id"],
                        time_text(run["started_at"]),
                        " ".join(run["sources"]),
                        run["radius"],
                        run["sample_count"],
                        run["match_count"],
                    )
                    for run in store.query_runs()
                ),
            )
            return
        run = store.report(run_id)
    blocks = RENDERERS[output_format](run.samples)
    if output == "-":
        for block in blocks:
            sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()
        return
    refuse_store(Path(output))
    write_file(Path(output), b"".join(blocks))
    log.info("%s: run %d, %d samples", printable(output), run.run_id, len(run.samples))
