"""The command ``simstore report``: recorded queries, written to a file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from simstore.cli.messages import log
from simstore.cli.options import common_options, format_option, open_store
from simstore.cli.output import check_output, print_table, time_text
from simstore.cli.parameters import choice, command, flag, option
from simstore.errors import DocumentNotFound, printable
from simstore.outputs import is_standard_output, written
from simstore.reports.formats import RENDERERS

if TYPE_CHECKING:
    from simstore.model import QueryRun
    from simstore.reports.html_words import Language
    from simstore.store import Store


@command()
@click.argument("run_id", required=False, type=int, metavar="[RUN]")
@format_option(*RENDERERS, "html")
@option(
    "-o --output",
    "Where to write; - is standard output.  [default: result.txt; result.html]",
    metavar="FILE",
)
@choice("--lang", ("en", "zh"), "With --format html: language of its interface.", default="en")
@flag("--force", "Replace a file that is there; the default ones always are.")
@flag("--list list_runs", "List the latest query runs instead.")
@common_options
def report(
    run_id: int | None,
    output_format: str,
    output: str | None,
    lang: Language,
    force: bool,
    list_runs: bool,
) -> None:
    """Write a query run, the last one unless another is named, to a file.

    Examples:
      simstore report                       the last query, to result.txt
      simstore report --format csv -o -     as CSV, to standard output
      simstore report --format html         as a page for the browser, to result.html
      simstore report --list                the queries that are kept
    """
    force = force or output is None
    output = output or ("result.html" if output_format == "html" else "result.txt")
    if not list_runs:
        check_output(output, replace=force)
    with open_store(read_only=True) as store:
        if list_runs:
            print_table(
                ("run", "started", "sources", "radius", "samples", "matches"),
                (
                    (
                        run.run_id,
                        time_text(run.started_at),
                        " ".join(run.sources),
                        run.radius,
                        run.sample_count,
                        run.match_count,
                    )
                    for run in store.runs.query()
                ),
            )
            return
        run = store.report(run_id)
        if output_format == "html":
            blocks = iter((_page(store, run, lang),))
        else:
            blocks = RENDERERS[output_format](run.samples)
    with written(output, replace=force, compress=False) as stream:
        for block in blocks:
            stream.write(block)
    if is_standard_output(output):
        return
    log.info("%s: run %d, %d samples", printable(output), run.run_id, len(run.samples))


def _page(store: Store, run: QueryRun, lang: Language) -> bytes:
    from simstore.reports.run_html import run_report

    def text_of(key: str) -> str | None:
        try:
            return store.get(key, with_text=True).text
        except DocumentNotFound:
            # It was removed since.
            return None

    return run_report(run, text_of, lang=lang, generated_at=int(time.time())).encode()
