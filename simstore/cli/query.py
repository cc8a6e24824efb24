"""``simstore query``."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, get_args

import click

from simstore.cli.messages import log
from simstore.cli.options import common_options, format_option, open_store, threads_option
from simstore.cli.output import print_table, progress
from simstore.cli.remote import refuse_served, server_url
from simstore.cli.source_options import (
    reading_options,
    take_read_options,
    tell_decodings,
    tell_passed_over,
)
from simstore.errors import InvalidParameter, printable
from simstore.model.query import PlanName

if TYPE_CHECKING:
    from simstore.model import Match, QueryRun, SampleResult

_TOO_SHORT = "too short to judge: only copies, and what contains it or is contained"


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  simstore query sample.txt                   within 3 bits\n"
        "  simstore query -k 6 --format jsonl new.txt  within 6 bits, for a program\n"
        "  simstore query --min-resemblance 0.5 a.txt  half of all shingles in common\n"
        "  simstore query --channel simhash a.txt      by fingerprints alone\n"
        "  echo 'some text' | simstore query -         standard input\n\n"
        "Every stored fingerprint within the radius is found; the sketches add what resembles the "
        "sample otherwise. `simstore report` writes the last answer again."
    )
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "-k",
    "--radius",
    type=int,
    metavar="BITS",
    help="Largest Hamming distance; 6 is the wide setting.  [default: min(3, M)]",
)
@click.option(
    "--channel",
    "channels",
    type=click.Choice(["simhash", "minhash", "sentences"]),
    multiple=True,
    help="Look by this channel; may be repeated; sentences finds the sentence that a short sample "
    "is, though words were changed, where there is a passage index.  [default: all that the store "
    "has; of a simtool store simhash, unless a threshold is given]",
)
@click.option(
    "--min-resemblance",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Only documents with this share of all shingles in common with the sample.",
)
@click.option(
    "--min-containment",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Only documents that contain this share of the sample's shingles.",
)
@click.option(
    "--likeness",
    is_flag=True,
    help="Tell likeness too: the cosine of the terms, each weighing more the rarer it is in the "
    "store; and the cosine by counts alone.",
)
@click.option(
    "--min-likeness",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Only documents of this likeness; 0.58 tells versions of one document.",
)
@click.option(
    "--min-cosine",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Only documents of this cosine; 0.68 goes with --min-likeness 0.58.",
)
@click.option(
    "--min-features",
    type=click.IntRange(min=0),
    metavar="N",
    help="Texts of fewer features match only where one contains the other.  "
    "[default: web 8, simtool 0]",
)
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Tell resemblance and containment, from the texts or else from the sketches.",
)
@click.option("--first", is_flag=True, help="Stop at the first match of each sample.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Most matches a sample.")
@click.option("--exclude-self", is_flag=True, help="Leave out the document with the sample's key.")
@click.option("--collection", metavar="NAME", help="Only documents of this collection.")
@click.option(
    "--since", metavar="DATE", help="Only documents first seen at or after it (ISO 8601, UTC)."
)
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Only documents with this metadata.",
)
@format_option("table", "simtool", "jsonl", "csv")
@click.option(
    "--explain", is_flag=True, help="Show plan, probes, candidates and time of each sample."
)
@click.option(
    "--plan",
    type=click.Choice(get_args(PlanName)),
    default="auto",
    show_default=True,
    help="How to look; the answer is the same, and auto is the fastest.",
)
@click.option("--no-record", is_flag=True, help="Leave no run behind for reports.")
@click.option("--require-fresh", is_flag=True, help="Refresh a stale store first, or exit with 4.")
@threads_option("processes are started from 2,048 samples on, or 4 MB of files")
@reading_options
@common_options
def query(
    sources: tuple[str, ...],
    radius: int | None,
    channels: tuple[str, ...],
    min_resemblance: float | None,
    min_containment: float | None,
    likeness: bool,
    min_likeness: float | None,
    min_cosine: float | None,
    min_features: int | None,
    verify: bool,
    first: bool,
    limit: int | None,
    exclude_self: bool,
    collection: str | None,
    since: str | None,
    conditions: tuple[str, ...],
    output_format: str,
    explain: bool,
    plan: str,
    no_record: bool,
    require_fresh: bool,
    threads: int | None,
    **reading: Any,
) -> None:
    """Find the stored documents near each document of the sources; nothing is inserted."""
    from simstore.model import QueryOptions

    options = QueryOptions(
        radius=radius,
        first=first,
        limit=limit,
        exclude_self=exclude_self,
        collection=collection,
        since=_time(since),
        where=_conditions(conditions),
        plan=plan,  # type: ignore[arg-type]
        channels=channels,
        verify=verify,
        min_resemblance=min_resemblance,
        min_containment=min_containment,
        min_features=min_features,
        likeness=likeness,
        min_likeness=min_likeness,
        min_cosine=min_cosine,
    )
    read = take_read_options(reading)
    refuse_served(("threads",))
    shared = {} if server_url() is not None else {"threads": threads}
    with open_store(served=True) as store, progress("query", in_bytes=True, at_once=False) as show:
        run = store.query_sources(
            sources,
            options,
            read=read,
            # A server keeps no runs.
            record=not no_record and server_url() is None,
            require_fresh=require_fresh,
            on_progress=show,
            on_pass_over=tell_passed_over,
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
    tell_decodings((sample.key, sample.decoding) for sample in run.samples)
    _write(run, output_format, likeness=options.asks_likeness)
    if explain:
        _explain(run)
    for rejection in run.rejections:
        log.warning(
            "rejected: %s, record %d: %s",
            printable(rejection.source),
            rejection.position,
            rejection.reason,
        )
    if run.rejections:
        raise SystemExit(5)


def _write(run: QueryRun, output_format: str, *, likeness: bool) -> None:
    if output_format == "table":
        more = ("likeness", "cosine") if likeness else ()
        print_table(
            ("sample", "distance", "resemblance", "containment", *more, "found by", "match"),
            (row for sample in run.samples for row in _table_rows(sample, likeness=likeness)),
        )
        return
    from simstore.reports.formats import RENDERERS

    for block in RENDERERS[output_format](run.samples):
        sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()


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
