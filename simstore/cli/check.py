"""The command ``simstore check``: find passages of submitted papers that copy stored documents."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.messages import log
from simstore.cli.options import (
    common_options,
    format_option,
    open_store,
    store_place,
    threads_option,
)
from simstore.cli.output import check_output, progress
from simstore.cli.parameters import choice, command, completed, count, flag, option, section
from simstore.cli.remote import refuse_served, server_url
from simstore.cli.results import print_facts, write_blocks
from simstore.cli.source_options import (
    log_ignored,
    reading_options,
    report_rejections,
    take_read_options,
    tell_passed_over,
    warn_of_decodings,
)
from simstore.cli.tables import print_table
from simstore.errors import counted, printable, shown_place
from simstore.outputs import is_same_file, is_standard_output, write_file
from simstore.reports.lines import json_array
from simstore.sources.files import Files

if TYPE_CHECKING:
    from simstore.model import CheckedPaper, Decoding, Rejection
    from simstore.reports.html_page import Library
    from simstore.reports.html_words import Language
    from simstore.store import Store


@command()
@click.argument(
    "papers", nargs=-1, required=True, metavar="PAPER...", shell_complete=completed("file")
)
@section(
    "What counts",
    option(
        "--high",
        "Least similarity of a highly similar passage.",
        type=float,
        default=0.8,
        metavar="SHARE",
    ),
    option(
        "--moderate",
        "Least similarity of a moderately similar passage.",
        type=float,
        default=0.5,
        metavar="SHARE",
    ),
    option(
        "--exclude",
        "A document that is no source, such as the author's own; *, ? and [...] match keys.",
        multiple=True,
        metavar="KEY|GLOB",
    ),
    flag("--exclude-quotations", "What stands in quotation marks does not count."),
    flag("--exclude-bibliography", "The list of references at the end does not count."),
    flag("--include-self", "A stored document with the paper's key is a source too."),
)
@section(
    "How to look",
    choice(
        "--by",
        ("sentences", "window"),
        "What a passage of the paper is.  [default: sentences; with --window: window]",
    ),
    count("--window", "Characters of a window.  [default: 30]"),
    option(
        "--sentences/--no-sentences",
        "Look for changed sentences and shuffled words, too, where the index has terms of "
        "sentences; not with --fast.  [default: sentences]",
        default=True,
    ),
    flag("--simhash", "Look by the fingerprints of passages too, where the index has them."),
    count(
        "--min-words",
        "Least words that a copy has in common with its source, of fewer than the "
        "index's, not all are found.  [default: those of the index, 8]",
    ),
    count(
        "--min-characters",
        "The same for scripts without blanks.  [default: those of the index, 13]",
    ),
    flag("--fast", "Stop at the first source of each passage, not the best one."),
    threads_option("processes are started from 64 papers on, or 32 kB of files"),
)
@section(
    "Answer",
    format_option("pan", "html"),
    option(
        "-o --output",
        "Where to write; a name that ends in .html, .json, .jsonl, .csv or .xml says the format, "
        "too.  "
        "[default: standard output; with --format html: report.html]",
        metavar="FILE",
    ),
    flag("--force", "Replace a file that is there."),
    choice("--lang", ("en", "zh"), "With HTML: language of its interface.", default="en"),
)
@reading_options
@common_options
def check(
    papers: tuple[str, ...],
    output_format: str,
    output: str | None,
    force: bool,
    lang: Language,
    threads: int | None,
    **options: Any,
) -> None:
    """Tell which passages of papers are in stored documents, and in which; nothing is inserted.

    Examples:
      simstore check paper.txt                    totals, sources, passages
      simstore check paper.docx -o report.html    a report for the browser
      simstore check --format jsonl papers/       for a program, a line a paper
      simstore check --exclude 'my-own-*' --exclude-quotations paper.txt

    The store needs a passage index: `simstore ingest --passages`, or `simstore passages build`. Of
    every run of 8 words (Chinese and the like: 13 characters) that a stored document has too, at
    least one source is named.
    """
    from simstore.model import CheckOptions

    read = take_read_options(options)
    refuse_served(("threads",))
    shared: dict[str, Any] = {} if server_url() is not None else {"threads": threads}
    channels = (
        "anchors",
        *(("sentences",) if options.pop("sentences") else ()),
        *(("simhash",) if options.pop("simhash") else ()),
    )
    rule = CheckOptions(**_passages(options), channels=channels)
    chosen = _format(output_format, output)
    if chosen == "html":
        output = output or "report.html"
    to_file = output is not None and not is_standard_output(output)
    if output is not None and to_file:
        _refuse_papers(Path(output), papers)
        check_output(output, replace=force)
    passed_over = tell_passed_over(papers, read)
    rejections: list[Rejection] = []
    decodings: list[tuple[str, Decoding | None]] = []
    with (
        open_store(read_only=True, served=True) as store,
        progress("check", in_bytes=True, at_once=False) as show,
    ):
        found = store.check_many(
            Files(*papers, read=read), rule, on_progress=show, on_ignored=log_ignored, **shared
        )
        _warn_of_absent(store, rule.exclude)
        library = None
        if chosen == "html":
            library = _library(store, counts_references=not rule.exclude_bibliography)
        blocks = _rendered(_papers(found, rejections, decodings), chosen, lang, library)
        if output is not None and to_file:
            data = b"".join(blocks)
            if decodings:
                write_file(output, data, replace=force)
                log.info("%s: written", printable(str(output)))
            else:
                log.warning(
                    "%s: not written, as there is no paper to tell of", printable(str(output))
                )
        elif chosen == "table":
            checked = list(_papers(found, rejections, decodings))
        else:
            write_blocks(blocks)
    if chosen == "table" and not to_file:
        for number, paper in enumerate(checked):
            if number:
                click.echo(file=sys.stdout)
            _print(paper)
    warn_of_decodings(decodings)
    if passed_over:
        log.warning(
            "%s checked, %s passed over", counted(len(decodings), "paper"), f"{passed_over:,}"
        )
    report_rejections(rejections)


def _passages(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with what a passage is; a size says that it is a window."""
    if options["window"] is not None:
        if options["by"] == "sentences":
            raise click.UsageError("--window is for --by window")
        options["by"] = "window"
    return {
        name: value
        for name, value in options.items()
        if value is not None or name not in ("by", "window")
    }


def _refuse_papers(output: Path, papers: Iterable[str]) -> None:
    """Refuse to write over a paper."""
    for paper in papers:
        if is_same_file(output, paper):
            raise click.UsageError(
                f"{printable(str(output))} is a paper that is checked; name another file"
            )


def _warn_of_absent(store: Store, keys: Iterable[str]) -> None:
    """Warn of keys to be excluded that no document has; patterns may fit none."""
    for key in keys:
        if not set(key) & set("*?[") and key not in store:
            log.warning("--exclude %s: no document has this key", printable(key) or "''")


def _format(output_format: str, output: str | None) -> str:
    """Return the format that is asked for, or the one that the output's name says."""
    source = click.get_current_context().get_parameter_source("output_format")
    if output is None or source is not click.core.ParameterSource.DEFAULT:
        if output_format == "table" and output is not None and not is_standard_output(output):
            raise click.UsageError(
                "a table goes to standard output; give --format jsonl, csv or html"
            )
        return output_format
    by_name = {
        ".html": "html", ".htm": "html", ".jsonl": "jsonl", ".json": "json", ".csv": "csv",
        ".xml": "pan",
    }  # fmt: skip
    suffix = Path(output).suffix.lower()
    if suffix not in by_name:
        if is_standard_output(output):
            return output_format
        raise click.UsageError(
            f"{output}: name it .html, .json, .jsonl, .csv or .xml, or give --format"
        )
    return by_name[suffix]


def _papers(
    found: Iterable[CheckedPaper | Rejection],
    rejections: list[Rejection],
    decodings: list[tuple[str, Decoding | None]],
) -> Iterator[CheckedPaper]:
    """Yield the papers and note how they were decoded; put aside what could not be read."""
    from simstore.model import CheckedPaper

    for one in found:
        if isinstance(one, CheckedPaper):
            decodings.append((one.key, one.decoding))
            yield one
        else:
            rejections.append(one)


def _library(store: Store, *, counts_references: bool) -> Library:
    """Return what a report says that papers are compared with."""
    from simstore.reports.html_page import Library

    name = server_url() or Path(store_place()).name
    if "://" in name:
        name = shown_place(name)
    return Library(name=name, document_count=len(store), counts_references=counts_references)


def _rendered(
    papers: Iterator[CheckedPaper], chosen: str, lang: Language, library: Library | None
) -> Iterator[bytes]:
    from simstore.reports import check_lines

    if chosen == "json":
        yield from json_array(check_lines.render_jsonl(papers))
    elif chosen == "jsonl":
        yield from check_lines.render_jsonl(papers)
    elif chosen == "csv":
        yield from check_lines.render_csv(papers)
    elif chosen == "pan":
        yield from check_lines.render_pan(papers)
    elif chosen == "html":
        from simstore.reports.check_html import html_report

        rendered = list(papers)
        if rendered:
            made_at = int(time.time())
            page = html_report(rendered, lang=lang, generated_at=made_at, compared_with=library)
            yield page.encode()


def _print(paper: CheckedPaper) -> None:
    from simstore.reports.check_lines import passage_rows, source_rows, total_facts

    print_facts(total_facts(paper))
    if paper.sources:
        click.echo(file=sys.stdout)
        print_table(
            ("share", "same", "characters", "cases", "source"),
            source_rows(paper),
            drop=("cases", "characters"),
        )
    rows = passage_rows(paper)
    if rows:
        click.echo(file=sys.stdout)
        print_table(
            ("start", "end", "class", "similarity", "source", "passage"),
            rows,
            drop=("class", "similarity"),
        )
