"""The command ``simstore query``: find stored documents near given documents or a text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, get_args

import click

from simstore.cli.messages import log
from simstore.cli.options import (
    common_options,
    document_filters,
    filters_of,
    format_option,
    open_store,
    radius_option,
    tell_empty_choice,
    threads_option,
)
from simstore.cli.output import progress
from simstore.cli.parameters import (
    choice,
    command,
    completed,
    count,
    flag,
    option,
    section,
    share,
)
from simstore.cli.remote import refuse_served, server_url
from simstore.cli.results import write_blocks
from simstore.cli.source_options import (
    hint_at_text,
    log_ignored,
    reading_options,
    report_rejections,
    take_read_options,
    tell_passed_over,
    warn_of_decodings,
)
from simstore.errors import InvalidParameter, counted, printable
from simstore.model.channels import CHANNELS, searched_names
from simstore.model.query import PlanName
from simstore.model.times import moment_given
from simstore.reports.formats import RENDERERS
from simstore.reports.lines import about_line
from simstore.sources.files import Files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simstore.model import Match, QueryRun, SampleResult

_PLANS = get_args(PlanName)
_TOO_SHORT = (
    "too short to judge by words: only copies match, and what contains them or is contained"
)
_TITLES = (
    "too short to judge by words: copies match, what contains them (of titles those at most twice "
    "as long), and titles like them"
)


@command()
@click.argument("sources", nargs=-1, metavar="SOURCE...", shell_complete=completed("file"))
@section(
    "What to find",
    option("--text", "Look for what is near this text; in place of a SOURCE.", metavar="TEXT"),
    radius_option("Largest Hamming distance; 6 is the wide setting."),
    share(
        "--min-resemblance",
        "Only documents with this share of all shingles of words in common with the sample; of "
        "characters see --min-character-resemblance.",
    ),
    share("--min-containment", "Only documents that contain this share of the sample's shingles."),
    share(
        "--min-character-resemblance",
        "Only documents with this share of all runs of characters in common, as the channel "
        "characters tells it: 0.2 and more.",
    ),
    option(
        "--channels",
        "Look by these channels, names with commas. "
        + " ".join(f"{one.name}: {one.finds}." for one in CHANNELS)
        + "  [default: all that the store has; of a simtool store simhash, unless a threshold is "
        "given]",
        metavar="NAMES",
        callback=lambda _context, _parameter, value: searched_names(value or ""),
    ),
    option(
        "--min-features",
        "Texts of fewer features match only where one contains the other.  [default: web 8, "
        "simtool 0]",
        type=click.IntRange(min=0),
        metavar="N",
    ),
    flag("--first", "Stop at the first match of each sample."),
    count("--limit", "Most matches a sample."),
)
@section(
    "Among which documents",
    document_filters(),
    option(
        "--since",
        "Only documents first seen since a date (ISO 8601, UTC), or in the last 30d, 2 weeks.",
        metavar="DATE|AGE",
    ),
    option("--where", "Only documents with this metadata.", multiple=True, metavar="FIELD=VALUE"),
    flag("--exclude-self", "Leave out the document with the sample's key."),
)
@section(
    "Answer",
    format_option(*RENDERERS),
    option(
        "--verify/--no-verify",
        "Tell resemblance and containment, from the texts or else from the sketches.",
        default=True,
    ),
    flag("--explain", "Show plan, probes, candidates and time of each sample."),
    flag("--no-record", "Leave no run behind for reports."),
    flag("--require-fresh", "Refresh a stale store first, or exit with 4."),
    choice(
        "--plan",
        _PLANS,
        f"How to look; the answer is the same, and auto is the fastest: {', '.join(_PLANS)}.",
        default="auto",
        metavar="PLAN",
    ),
    threads_option("processes are started from 2,048 samples on, or 4 MB of files"),
)
@reading_options
@common_options
def query(
    sources: tuple[str, ...],
    text: str | None,
    output_format: str,
    explain: bool,
    no_record: bool,
    require_fresh: bool,
    threads: int | None,
    **given: Any,
) -> None:
    """Find the stored documents near each document of the sources, or near a text.

    Nothing is inserted.

    Examples:
      simstore query sample.txt                   within 3 bits
      simstore query -k 6 --format jsonl new.txt  within 6 bits, for a program
      simstore query --min-resemblance 0.5 a.txt  half of all shingles in common
      simstore query --channels simhash a.txt     by fingerprints alone
      simstore query --text 'Boil the bones.'     a text on the command line
      zcat new.gz | simstore query -              standard input

    Every stored fingerprint within the radius is found; the sketches add what resembles the sample
    otherwise. `simstore report` writes the last answer again.
    """
    from simstore.model import QueryOptions
    from simstore.model.query import NO_SUCH_FIELD

    read = take_read_options(given)
    if bool(sources) == (text is not None):
        raise click.UsageError("name a SOURCE, or give a text: --text TEXT")
    since = given["since"]
    given |= {
        "since": None if since is None else moment_given("--since", since),
        "where": _conditions(given["where"]),
    }
    options = QueryOptions(**given)
    refuse_served(("threads",))
    shared: dict[str, Any] = {} if server_url() is not None else {"threads": threads}
    shared |= {
        "record": not no_record and server_url() is None,
        "require_fresh": require_fresh,
    }
    passed_over = 0
    if text is None:
        with hint_at_text(sources):
            passed_over = tell_passed_over(sources, read)
    with open_store(served=True) as store, progress("query", in_bytes=True, at_once=False) as show:
        if text is not None:
            run = store.query_many([("text", text)], options, **shared)
        else:
            samples = Files(*sources, read=read)
            with hint_at_text(sources):
                run = store.query_many(
                    samples, options, on_progress=show, on_ignored=log_ignored, **shared
                )
        if not any(sample.matches for sample in run.samples):
            tell_empty_choice(store, filters_of(given))
    for name in run.unknown_fields:
        log.warning(NO_SUCH_FIELD, printable(name))
    if run.stale:
        log.warning(
            "the answer is the standing generation's: %s; `simstore vocabulary refresh`, "
            "or --require-fresh",
            run.stale,
        )
    if run.not_recorded:
        log.warning("the run is not recorded: %s", run.not_recorded)
    warn_of_decodings((sample.key, sample.decoding) for sample in run.samples)
    print_matches(run, output_format)
    tell_unlisted(run.samples, output_format)
    if options.limit is not None:
        full = sum(len(sample.matches) == options.limit for sample in run.samples)
        if full:
            log.info(
                "%s of %s %s %s: --limit may have left out others",
                f"{full:,}",
                counted(len(run.samples), "sample"),
                "has" if full == 1 else "have",
                counted(options.limit, "match", "matches"),
            )
    if explain:
        _explain(run)
    if passed_over:
        asked = counted(len(run.samples), "sample")
        log.warning("%s looked for, %s passed over", asked, f"{passed_over:,}")
    report_rejections(run.rejections)


def print_matches(run: QueryRun, output_format: str) -> None:
    """Print the matches of a run."""
    if output_format != "table":
        write_blocks(RENDERERS[output_format](run.samples))
        return
    spelt = any(
        match.character_resemblance is not None
        for sample in run.samples
        for match in sample.matches
    )
    about = any(about_line(match) for sample in run.samples for match in sample.matches)
    more = ("characters",) if spelt else ()
    from simstore.cli.tables import print_table

    print_table(
        (
            "sample",
            "distance",
            "resemblance",
            "containment",
            *more,
            "found by",
            "match",
            *(("about",) if about else ()),
        ),
        (row for sample in run.samples for row in _rows_of(sample, spelt, about)),
    )
    short = sum(sample.too_short for sample in run.samples)
    if short:
        told = counted(short, "sample is", "samples are")
        click.echo(f"{told} {_TITLES if spelt else _TOO_SHORT}", file=sys.stdout)


def tell_unlisted(samples: Iterable[SampleResult], output_format: str) -> None:
    """Tell how many matches are not in a ``result.txt``, which lists what simhash found alone."""
    if output_format != "simtool":
        return
    from simstore.reports.formats import listed_distance

    others = sum(listed_distance(match) is None for sample in samples for match in sample.matches)
    if others:
        log.info(
            "this format lists what fingerprints found; %s by sketches or sentences alone: "
            "--format table, csv and jsonl list them too",
            counted(others, "match was found", "matches were found"),
        )


def _rows_of(sample: SampleResult, spelt: bool, about: bool) -> list[tuple[Any, ...]]:
    nothing = (None,) * (3 + spelt) + ("",)
    if not sample.matches:
        return [(sample.key, *nothing, "-", *("",) * about)]
    return [
        (
            sample.key if number == 0 else "",
            match.distance,
            _share(match.resemblance, match.basis),
            _share(match.containment, match.basis),
            *((_share(match.character_resemblance),) if spelt else ()),
            " + ".join(match.channels),
            _place(match),
            *((about_line(match),) if about else ()),
        )
        for number, match in enumerate(sample.matches)
    ]


def _place(match: Match) -> str:
    """Return the key of a match, with the place of the sentence that was found."""
    if match.passage_similarity is None:
        return match.key
    place = f"{match.passage_start}-{match.passage_end}"
    return f"{match.key} [{place}, {match.passage_similarity:.3f}]"


def _share(share: float | None, basis: str | None = None) -> str:
    """Return a share for people; an estimate is marked with a tilde."""
    if share is None:
        return ""
    return f"{'~' if basis == 'sketch' else ''}{share:.3f}"


def _explain(run: QueryRun) -> None:
    for sample in run.samples:
        known = sample.explanation
        if known is None:
            continue
        thresholds = ",".join("-" if t < 0 else str(t) for t in known.thresholds)
        log.info(
            "%s: %s%s, %s, %s, %d by bands, %d verified, %s, %.2f ms",
            printable(sample.key),
            known.method,
            f" ({thresholds})" if thresholds else "",
            counted(known.probe_count, "probe"),
            counted(known.candidate_count, "candidate"),
            known.band_candidate_count,
            known.verified_count,
            counted(len(sample.matches), "match", "matches"),
            known.seconds * 1000,
            extra={"facts": {"thresholds": list(known.thresholds)}},
        )


def _conditions(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidParameter(f"--where {text!r}: write FIELD=VALUE")
        pairs.append((name, value))
    return tuple(pairs)
