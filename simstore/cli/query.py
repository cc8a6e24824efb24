"""The command ``simstore query``: stored documents near those of the sources."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, get_args

import click

from simstore.cli.messages import log
from simstore.cli.options import (
    RADIUS_DEFAULT,
    common_options,
    format_option,
    open_store,
    threads_option,
)
from simstore.cli.output import print_table, progress, write_blocks
from simstore.cli.parameters import choice, command, count, flag, option, share
from simstore.cli.remote import refuse_served, server_url
from simstore.cli.source_options import (
    log_ignored,
    reading_options,
    report_rejections,
    take_read_options,
    warn_of_decodings,
)
from simstore.errors import InvalidParameter, printable
from simstore.model.channels import CHANNELS, NAMES
from simstore.model.query import PlanName
from simstore.reports.formats import RENDERERS
from simstore.sources.files import Files

if TYPE_CHECKING:
    from simstore.model import Match, QueryRun, SampleResult

_TOO_SHORT = "too short to judge: only copies, and what contains it or is contained"


@command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@option(
    "-k --radius",
    f"Largest Hamming distance; 6 is the wide setting.  {RADIUS_DEFAULT}",
    type=int,
    metavar="BITS",
)
@choice(
    "--channel channels",
    NAMES,
    "Look by this channel; may be repeated. "
    + " ".join(f"{one.name}: {one.finds}." for one in CHANNELS)
    + "  [default: all that the store "
    "has; of a simtool store simhash, unless a threshold is given]",
    multiple=True,
)
@share(
    "--min-resemblance", "Only documents with this share of all shingles in common with the sample."
)
@share("--min-containment", "Only documents that contain this share of the sample's shingles.")
@flag(
    "--likeness",
    "Tell likeness too: the cosine of the terms, each weighing more the rarer it is in the "
    "store; and the cosine by counts alone.",
)
@share("--min-likeness", "Only documents of this likeness; 0.58 tells versions of one document.")
@share("--min-cosine", "Only documents of this cosine; 0.68 goes with --min-likeness 0.58.")
@option(
    "--min-features",
    "Texts of fewer features match only where one contains the other.  [default: web 8, simtool 0]",
    type=click.IntRange(min=0),
    metavar="N",
)
@option(
    "--verify/--no-verify",
    "Tell resemblance and containment, from the texts or else from the sketches.",
    default=True,
)
@flag("--first", "Stop at the first match of each sample.")
@count("--limit", "Most matches a sample.")
@flag("--exclude-self", "Leave out the document with the sample's key.")
@option("--collection", "Only documents of this collection.", metavar="NAME")
@option("--since", "Only documents first seen at or after it (ISO 8601, UTC).", metavar="DATE")
@option("--where", "Only documents with this metadata.", multiple=True, metavar="FIELD=VALUE")
@format_option("table", *RENDERERS)
@flag("--explain", "Show plan, probes, candidates and time of each sample.")
@choice(
    "--plan",
    get_args(PlanName),
    "How to look; the answer is the same, and auto is the fastest.",
    default="auto",
)
@flag("--no-record", "Leave no run behind for reports.")
@flag("--require-fresh", "Refresh a stale store first, or exit with 4.")
@threads_option("processes are started from 2,048 samples on, or 4 MB of files")
@reading_options
@common_options
def query(
    sources: tuple[str, ...],
    output_format: str,
    explain: bool,
    no_record: bool,
    require_fresh: bool,
    threads: int | None,
    **given: Any,
) -> None:
    """Find the stored documents near each document of the sources; nothing is inserted.

    Examples:
      simstore query sample.txt                   within 3 bits
      simstore query -k 6 --format jsonl new.txt  within 6 bits, for a program
      simstore query --min-resemblance 0.5 a.txt  half of all shingles in common
      simstore query --channel simhash a.txt      by fingerprints alone
      echo 'some text' | simstore query -         standard input

    Every stored fingerprint within the radius is found; the sketches add what resembles the sample
    otherwise. `simstore report` writes the last answer again.
    """
    from simstore.model import QueryOptions

    read = take_read_options(given)
    given |= {"since": _time(given["since"]), "where": _conditions(given["where"])}
    options = QueryOptions(**given)
    refuse_served(("threads",))
    shared: dict[str, Any] = {} if server_url() is not None else {"threads": threads}
    with open_store(served=True) as store, progress("query", in_bytes=True, at_once=False) as show:
        run = store.query_many(
            Files(*sources, read=read),
            options,
            record=not no_record and server_url() is None,
            require_fresh=require_fresh,
            on_progress=show,
            on_ignored=log_ignored,
            **shared,
        )
    if run.stale:
        log.warning(
            "the answer is the standing generation's: %s; `simstore vocabulary refresh`, "
            "or --require-fresh",
            run.stale,
        )
    if run.not_recorded:
        log.warning("the run is not recorded: %s", run.not_recorded)
    warn_of_decodings((sample.key, sample.decoding) for sample in run.samples)
    _write(run, output_format, likeness=options.asks_likeness)
    if explain:
        _explain(run)
    report_rejections(run.rejections)


def _write(run: QueryRun, output_format: str, *, likeness: bool) -> None:
    if output_format == "table":
        more = ("likeness", "cosine") if likeness else ()
        print_table(
            ("sample", "distance", "resemblance", "containment", *more, "found by", "match"),
            (row for sample in run.samples for row in _table_rows(sample, likeness=likeness)),
        )
        return
    write_blocks(RENDERERS[output_format](run.samples))


def _table_rows(sample: SampleResult, *, likeness: bool) -> list[tuple[Any, ...]]:
    nothing = (None, None, None, *((None, None) if likeness else ()), "")
    if not sample.matches:
        shown = f"- ({_TOO_SHORT})" if sample.too_short else "-"
        return [(sample.key, *nothing, shown)]
    rows = [
        (
            sample.key if number == 0 else "",
            match.distance,
            _share(match.resemblance, match.basis),
            _share(match.containment, match.basis),
            *((_share(match.likeness), _share(match.cosine)) if likeness else ()),
            " + ".join(match.channels),
            _place(match),
        )
        for number, match in enumerate(sample.matches)
    ]
    return [*rows, ("", *nothing, f"({_TOO_SHORT})")] if sample.too_short else rows


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
            "%s: %s%s, %d probes, %d candidates, %d by bands, %d verified, %d matches, %.2f ms",
            printable(sample.key),
            known.method,
            f" ({thresholds})" if thresholds else "",
            known.probe_count,
            known.candidate_count,
            known.band_candidate_count,
            known.verified_count,
            len(sample.matches),
            known.seconds * 1000,
            extra={"facts": {"thresholds": list(known.thresholds)}},
        )


def _time(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidParameter(
            f"--since {text!r} is no date; write it as 2026-11-22 or 2026-11-22T10:00:00"
        ) from None
    return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp())


def _conditions(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidParameter(f"--where {text!r}: write FIELD=VALUE")
        pairs.append((name, value))
    return tuple(pairs)
