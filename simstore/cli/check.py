"""The command ``simstore check``: find passages of submitted papers that copy stored documents."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
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
from simstore.cli.output import check_output, format_by_name, is_format_given, progress
from simstore.cli.parameters import (
    choice,
    command,
    completed,
    count,
    files_argument,
    flag,
    option,
    section,
)
from simstore.cli.remote import refuse_served, server_url
from simstore.cli.results import print_facts, write_blocks
from simstore.cli.source_options import (
    log_ignored,
    reading_options,
    report_rejections,
    take_read_options,
    tell_passed_over,
    warn_of_decodings,
    with_remedy,
)
from simstore.cli.tables import print_table
from simstore.errors import NotFound, counted, printable, shown_place
from simstore.outputs import check_apart, is_same_file, is_standard_output, write_file
from simstore.reports.lines import json_array
from simstore.sources.files import Files

if TYPE_CHECKING:
    from simstore.model import CheckedPaper, CheckOptions, Decoding, MutualCheck, Rejection
    from simstore.reports.html_page import Library
    from simstore.reports.html_words import Language
    from simstore.sources.reader import ReadOptions
    from simstore.store import Store


# Papers that are compared with one another unless it is said.
MUTUAL_PAPERS = 100


@command()
@files_argument("papers", "PAPER...")
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
    option(
        "--exclude-author",
        "An author whose documents are no sources, as they name themselves.",
        multiple=True,
        metavar="NAME",
    ),
    option(
        "--exclude-collection",
        "A collection whose documents are no sources.",
        multiple=True,
        metavar="NAME",
    ),
    option(
        "--template",
        "A text that the papers are made from, such as the assignment or a form: what they "
        "have of it does not count.",
        multiple=True,
        metavar="FILE",
        shell_complete=completed("file"),
    ),
    count(
        "--min-source-words",
        "Sources with fewer words (Chinese: characters) in common with a paper do not count.",
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
        "What a passage of the paper is; the table lists them, too, where it is given.  "
        "[default: sentences; with --window: window]",
    ),
    count("--window", "Characters of a window.  [default: 30]"),
    option(
        "--sentences/--no-sentences",
        "Look for changed sentences and shuffled words, too, where the index has terms of "
        "sentences; not with --fast.",
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
    "Papers beside each other",
    option(
        "--mutual/--no-mutual",
        f"Compare the papers with one another too.  [default: of 2 to {MUTUAL_PAPERS} papers]",
        is_flag=True,
        default=None,
    ),
)
@section(
    "Answer",
    format_option("html"),
    option(
        "-o --output",
        "Where to write; a name that ends in .html, .json, .jsonl or .csv says the format, too.  "
        "[default: standard output; with --format html: report.html]",
        metavar="FILE",
    ),
    flag(
        "--all-sources",
        "List every source, the largest first, not only the few that explain what is copied.",
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
    all_sources: bool,
    force: bool,
    lang: Language,
    threads: int | None,
    mutual: bool | None,
    **options: Any,
) -> None:
    """Tell which passages of papers are in stored documents, and in which; nothing is inserted.

    Examples:
      simstore check paper.txt                    totals, sources, passages
      simstore check paper.docx -o report.html    a report for the browser
      simstore check --format jsonl papers/       for a program, a line a paper
      simstore check essays/ -o class.html        a class, also among themselves
      simstore check --exclude 'my-own-*' --exclude-quotations paper.txt

    The store needs a passage index: `simstore ingest --passages`, or `simstore passages build`. Of
    every run of 8 words (Chinese and the like: 13 characters) that a stored document has too, at
    least one source is named. Without a store or its index, several papers are compared with one
    another alone.
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
    templates: tuple[str, ...] = options["template"]
    options["template"] = tuple(_texts(templates, read))
    # Who says what a passage is wants to see them.
    tells_passages = not (options["by"] is None and options["window"] is None)
    rule = CheckOptions(**_passages(options), channels=channels)
    chosen = _format(output_format, output)
    if chosen == "html":
        output = output or "report.html"
    to_file = output is not None and not is_standard_output(output)
    if output is not None and to_file:
        _refuse_papers(Path(output), papers)
        check_apart({"report": output}, templates)
        check_output(output, replace=force)
    passed_over = tell_passed_over(papers, read)
    rejections: list[Rejection] = []
    decodings: list[tuple[str, Decoding | None]] = []
    with (
        _library_or_memory() as (store, absent),
        progress("check", in_bytes=True, at_once=False) as show,
    ):
        files = Files(*papers, read=read)
        beside = None
        if absent is None:
            found: Iterator[CheckedPaper | Rejection] = iter(
                store.check_many(files, rule, on_progress=show, on_ignored=log_ignored, **shared)
            )
            try:
                found = chain(list(islice(found, 1)), found)
            except NotFound as error:
                absent = error
        if absent is not None:
            if mutual is False:
                raise absent
            beside = _alone(store, files, rule, absent, show)
            found = chain(beside.papers, beside.rejections)
        else:
            _warn_of_absent(store, rule.exclude)
        library = _library(store, rule) if chosen == "html" and absent is None else None
        reasons: set[str] = set()
        given = _papers(found, rejections, decodings, reasons)
        if mutual is not False and beside is None:
            given, beside = _beside(store, given, rule, asked=mutual is True)
        blocks = _rendered(given, beside, chosen, lang, library, all_sources=all_sources)
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
            checked = list(given)
        else:
            write_blocks(blocks)
    if chosen == "table" and not to_file:
        for number, paper in enumerate(checked):
            if number:
                click.echo(file=sys.stdout)
            _print(paper, all_sources=all_sources, with_passages=tells_passages)
        if beside is not None:
            _print_pairs(beside)
    if decodings and "excluded source" not in reasons:
        _warn_of_nothing_excluded(rule)
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


def _texts(names: tuple[str, ...], read: ReadOptions) -> Iterator[str]:
    """Yield the texts of files, of which each has to be readable."""
    from simstore.model import Document
    from simstore.sources.files import open_sources
    from simstore.sources.source import samples_of

    for name in names:
        for one in samples_of(open_sources([name], read)[0], log_ignored):
            if not isinstance(one, Document):
                raise click.UsageError(f"--template {printable(name)}: {with_remedy(one.reason)}")
            yield one.text


def _refuse_papers(output: Path, papers: Iterable[str]) -> None:
    """Refuse to write over a paper, or over a file of a folder of papers."""
    # What cannot be looked at is told later.
    folders = Path(os.path.realpath(output)).parents if os.path.exists(output) else ()
    for paper in papers:
        if Path(os.path.realpath(paper)) in folders or is_same_file(output, paper):
            raise click.UsageError(
                f"{printable(str(output))} is a paper that is checked; name another file"
            )


def _warn_of_absent(store: Store, keys: Iterable[str]) -> None:
    """Warn of keys to be excluded that no document has."""
    for key in keys:
        if not _is_pattern(key) and key not in store:
            log.warning("--exclude %s: no document has this key", printable(key) or "''")


def _is_pattern(key: str) -> bool:
    return bool(set(key) & set("*?["))


def _warn_of_nothing_excluded(rule: CheckOptions) -> None:
    """Warn that sources are excluded of which no paper has anything: a name may be misspelt."""
    given = {
        "--exclude": tuple(filter(_is_pattern, rule.exclude)),
        "--exclude-author": rule.exclude_author,
        "--exclude-collection": rule.exclude_collection,
    }
    named = [f"{option} {printable(name)}" for option, names in given.items() for name in names]
    if named:
        log.warning(
            "%s: nothing is left out by it, as no stretch is in such documents alone",
            ", ".join(named),
        )


def _format(output_format: str, output: str | None) -> str:
    """Return the format that is asked for, or the one that the output's name says."""
    if output is None or is_format_given():
        if output_format == "table" and output is not None and not is_standard_output(output):
            raise click.UsageError(
                "a table goes to standard output; give --format jsonl, csv or html"
            )
        return output_format
    named = format_by_name(output)
    if named is None and not is_standard_output(output):
        raise click.UsageError(f"{output}: name it .html, .json, .jsonl or .csv, or give --format")
    return named or output_format


def _papers(
    found: Iterable[CheckedPaper | Rejection],
    rejections: list[Rejection],
    decodings: list[tuple[str, Decoding | None]],
    reasons: set[str],
) -> Iterator[CheckedPaper]:
    """Yield the papers; note how they were decoded, and why stretches of them do not count."""
    from simstore.model import CheckedPaper

    for one in found:
        if isinstance(one, CheckedPaper):
            decodings.append((one.key, one.decoding))
            reasons.update(stretch.reason for stretch in one.excluded)
            yield one
        else:
            rejections.append(one)


@contextmanager
def _library_or_memory() -> Iterator[tuple[Store, NotFound | None]]:
    """Open the store; if there is none, yield an empty one in memory, and the error."""
    from simstore.store import Store

    with ExitStack() as opened:
        try:
            store = opened.enter_context(open_store(read_only=True, served=True))
            absent = None
        except NotFound as error:
            store, absent = opened.enter_context(Store(":memory:")), error
        yield store, absent


def _alone(
    store: Store,
    files: Files,
    rule: CheckOptions,
    absent: NotFound,
    on_progress: Callable[[int, int | None], None] | None,
) -> MutualCheck:
    """Compare papers with one another only, as there is no library.

    Raises:
        NotFound: Fewer than two papers can be read.
    """
    found = store.check_mutual(files, rule, on_progress=on_progress, on_ignored=log_ignored)
    if len(found.papers) < 2:
        raise absent
    log.warning("without a library, the papers are compared with one another only (%s)", absent)
    return found


def _beside(
    store: Store, papers: Iterator[CheckedPaper], rule: CheckOptions, *, asked: bool
) -> tuple[Iterator[CheckedPaper], MutualCheck | None]:
    """Return the papers, and what they have in common where several are to be compared."""
    from simstore.model import Document

    held = list(papers if asked else islice(papers, MUTUAL_PAPERS + 1))
    if not asked and len(held) > MUTUAL_PAPERS:
        log.warning(
            "more than %s papers are not compared with one another; --mutual does it",
            f"{MUTUAL_PAPERS:,}",
        )
        return chain(held, papers), None
    if len(held) < 2:
        return iter(held), None
    given = [Document(paper.key, paper.text, title=paper.title) for paper in held]
    return iter(held), store.check_mutual(given, rule)


def _library(store: Store, options: CheckOptions) -> Library:
    """Return what a report says that papers are compared with, and how."""
    from simstore.reports.check_data import settings_text
    from simstore.reports.html_page import Library

    name = server_url() or Path(store_place()).name
    if "://" in name:
        name = shown_place(name)
    return Library(
        name=name,
        document_count=len(store),
        counts_references=not options.exclude_bibliography,
        last_run=next(((run.run_id, run.started_at) for run in store.runs.ingest(1)), None),
        settings=settings_text(options),
    )


def _rendered(
    papers: Iterator[CheckedPaper],
    beside: MutualCheck | None,
    chosen: str,
    lang: Language,
    library: Library | None,
    *,
    all_sources: bool,
) -> Iterator[bytes]:
    from simstore.reports import check_lines

    if chosen == "json":
        yield from json_array(check_lines.render_jsonl(papers, beside, all_sources=all_sources))
    elif chosen == "jsonl":
        yield from check_lines.render_jsonl(papers, beside, all_sources=all_sources)
    elif chosen == "csv":
        yield from check_lines.render_csv(papers, beside)
    elif chosen == "html":
        from simstore.reports.check_html import html_report

        rendered = list(papers)
        if rendered:
            made_at = int(time.time())
            page = html_report(
                rendered,
                lang=lang,
                generated_at=made_at,
                compared_with=library,
                mutual=beside,
            )
            yield page.encode()


def _print(paper: CheckedPaper, *, all_sources: bool, with_passages: bool) -> None:
    from simstore.reports.check_lines import case_rows, passage_rows, total_facts

    print_facts(total_facts(paper))
    if paper.sources:
        _print_sources(paper, all_sources=all_sources)
    if cases := case_rows(paper, all_sources=all_sources):
        click.echo(file=sys.stdout)
        print_table(("source", "start", "end", "words", "same", "case"), cases)
    if with_passages and (passages := passage_rows(paper)):
        click.echo(file=sys.stdout)
        columns = ("start", "end", "class", "similarity", "source", "passage")
        print_table(columns, passages)


def _print_sources(paper: CheckedPaper, *, all_sources: bool) -> None:
    from simstore.reports.check_lines import listed_sources, source_rows

    click.echo(file=sys.stdout)
    columns = ("share", "adds", "same", "characters", "cases", "source", "about")
    told = source_rows(paper, all_sources=all_sources)
    # Sources that tell nothing of themselves need no column for it.
    shown = len(columns) - (not any(row[-1] for row in told))
    print_table(columns[:shown], [row[:shown] for row in told])
    others = listed_sources(paper, all_sources=all_sources)[1]
    if others:
        have = "source has" if others == 1 else "sources have"
        click.echo(
            f"and {others:,} other {have} parts of the same text; --all-sources lists them",
            file=sys.stdout,
        )


def _print_pairs(mutual: MutualCheck) -> None:
    """Print the pairs of papers that have text in common."""
    from simstore.reports.check_lines import pair_rows

    click.echo(file=sys.stdout)
    rows = pair_rows(mutual)
    if not rows:
        click.echo("No two of the papers have a copied stretch in common.", file=sys.stdout)
        return
    print_table(
        ("not in library", "share", "of the other", "characters", "cases", "paper", "other paper"),
        rows,
    )
