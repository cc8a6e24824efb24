"""The command ``simstore report``: write a recorded query run to a file."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.messages import log
from simstore.cli.options import FORMATS, common_options, format_option, open_store
from simstore.cli.output import check_output, format_by_name, is_format_given, time_text
from simstore.cli.parameters import choice, command, flag, option
from simstore.cli.results import limited, print_items
from simstore.errors import DocumentNotFound, counted, printable
from simstore.outputs import is_standard_output, written
from simstore.reports.formats import RENDERERS

_LISTED = 20
_DEFAULTS = {"html": "result.html", "table": "-"}
# Endings of formats that no report is written in.
_OTHER_ENDINGS = {
    ".doc", ".docx", ".gz", ".md", ".odt", ".ods", ".parquet", ".pdf", ".rtf", ".tsv", ".xls",
    ".xlsx", ".xml", ".zip",
}  # fmt: skip

if TYPE_CHECKING:
    from simstore.model import QueryRun
    from simstore.reports.html_words import Language
    from simstore.store import Store


@command()
@click.argument("run_id", required=False, type=int, metavar="[RUN]")
@format_option(*RENDERERS, "html", default="simtool")
@option(
    "-o --output",
    "Where to write; - is standard output.  [default: result.txt; with --format html: result.html; "
    "with table: standard output]",
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
      simstore report                    the last query, to result.txt
      simstore report --format csv -o -  as CSV, to standard output
      simstore report --format html      as a page for the browser, to result.html
      simstore report -o asked.html      so, too: the ending tells the format
      simstore report --list             the queries that are kept

    result.txt, the format simtool, lists what fingerprints found, by distance; the other formats
    list what sketches and sentences found besides.
    """
    if output is not None:
        if list_runs and not is_standard_output(output):
            raise click.UsageError("--list writes to standard output: leave out --output")
        output_format = _format(output, output_format)
    force = force or output is None
    output = output or _DEFAULTS.get(output_format, "result.txt")
    if output_format == "table" and not (list_runs or is_standard_output(output)):
        raise click.UsageError("a table goes to standard output; give --format csv or jsonl")
    if not list_runs:
        check_output(output, replace=force)
    with open_store(read_only=True) as store:
        if list_runs:
            _print_list((run.record() for run in store.runs.query(_LISTED + 1)), output_format)
            return
        run = store.report(run_id)
        if output_format == "table":
            from simstore.cli.query import print_matches

            print_matches(run, output_format)
            return
        if output_format == "html":
            blocks = iter((_page(store, run, lang),))
        else:
            blocks = RENDERERS[output_format](run.samples)
    with written(output, replace=force, compress=False) as stream:
        for block in blocks:
            stream.write(block)
    if not is_standard_output(output):
        samples = counted(len(run.samples), "sample")
        log.info("%s: run %d, %s", printable(output), run.run_id, samples)
    from simstore.cli.query import tell_unlisted

    tell_unlisted(run.samples, output_format)


def _format(output: str, asked: str) -> str:
    """Return the format that is asked for, or the one that the output's name says."""
    named = format_by_name(output)
    ending = Path(output).suffix.lower()
    if named is None and ending in _OTHER_ENDINGS and not is_format_given():
        raise click.UsageError(
            f"{output}: no report is written as {ending}: "
            "name it .txt, .html, .json, .jsonl or .csv, or give --format"
        )
    return named or asked


def _print_list(runs: Iterable[dict[str, Any]], output_format: str) -> None:
    print_items(
        limited(runs, _LISTED, "run"),
        output_format if output_format in FORMATS else "table",
        columns=("run", "started", "sources", "radius", "samples", "matches"),
        row=lambda run: (
            run["run_id"],
            time_text(run["started_at"]),
            " ".join(run["sources"]),
            run["radius"],
            run["sample_count"],
            run["match_count"],
        ),
        record=lambda run: run,
    )


def _page(store: Store, run: QueryRun, lang: Language) -> bytes:
    from simstore.reports.run_html import run_report

    def text_of(key: str) -> str | None:
        try:
            return store.get(key, with_text=True).text
        except DocumentNotFound:
            # It was removed since.
            return None

    return run_report(run, text_of, lang=lang, generated_at=int(time.time())).encode()
