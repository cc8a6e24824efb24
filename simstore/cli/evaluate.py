"""The command ``simstore evaluate``: precision and recall of a store on labelled pairs."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from simstore.cli.messages import log
from simstore.cli.options import common_options, format_option, open_store
from simstore.cli.output import progress
from simstore.cli.parameters import command, flag, option, section, share
from simstore.cli.results import print_rows
from simstore.cli.tables import print_table
from simstore.errors import InvalidParameter, NotFound, counted, printable
from simstore.reports.lines import rounded

if TYPE_CHECKING:
    from simstore.model import ClustersStatus
    from simstore.search.evaluation import CurvePoint, Evaluation
    from simstore.sources.labels import LabelledPair

_NAMED_KEYS = 3
# What `simstore clusters` is asked for to join what a method finds; by sketches, where it keeps no
# texts.
_COMMANDS = {
    "minhash": " --min-resemblance {least}",
    "verified": " --min-resemblance {least}",
    "likeness": " --min-likeness {least} --min-cosine {cosine}",
    "either": " --min-resemblance {sure} --min-likeness {least} --min-cosine {cosine}",
    "exact": " --min-resemblance {least} --exact-join",
    "exact-either": " --min-resemblance {sure} --min-likeness {least} --min-cosine 0 --exact-join",
}


@command()
@section(
    "Labels",
    option("--pairs", "Labelled pairs: a, b, perhaps label.", metavar="FILE"),
    option("--clusters", "Labelled documents: key, group.", metavar="FILE"),
    option("--clusters-field", "The metadata field that holds the group.", metavar="NAME"),
)
@section(
    "What to judge",
    option(
        "--radius radii",
        "Radii of the curve of SimHash.  [default: 0-12, at most M]",
        metavar="FIRST-LAST",
    ),
    share(
        "--min-resemblance",
        "Least resemblance, and least likeness, of the exact joins.  [default: 0.5 with --exact, "
        "else 0.3]",
        zero=False,
    ),
    flag(
        "--older-methods",
        "Judge I-Match and counting Bloom filters too, as `simstore compare` has them.",
    ),
    flag("--exact", "Print all pairs that resemble each other instead."),
)
@section(
    "Answer",
    format_option(),
    flag("--all every", "List all thresholds of all methods, as JSON and CSV do."),
)
@common_options
def evaluate(
    pairs: str | None,
    clusters: str | None,
    clusters_field: str | None,
    exact: bool,
    min_resemblance: float | None,
    radii: str | None,
    older_methods: bool,
    every: bool,
    output_format: str,
) -> None:
    """Tell how well the store finds the near-duplicates that somebody labelled.

    Examples:
      simstore evaluate --pairs pairs.tsv  a line a pair: two keys, perhaps 1 or 0
      simstore evaluate --clusters groups.tsv  a line a document: key, group
      simstore evaluate --clusters-field group  the group is a metadata field
      simstore evaluate --exact --min-resemblance 0.8 --format csv

    Labels are tab-separated, with or without a header, or JSON Lines; compressed or not.
    `docs/explanation/detection.md` says what the figures mean.
    """
    chosen = [name for name in (pairs, clusters, clusters_field) if name is not None]
    if len(chosen) + exact != 1:
        raise InvalidParameter("give one of --pairs, --clusters, --clusters-field and --exact")
    if exact:
        _exact(0.5 if min_resemblance is None else min_resemblance, output_format)
        return
    from simstore.services.evaluate.evaluate import FLOOR, EvaluateOptions, Labels
    from simstore.sources.labels import read_clusters, read_pairs

    labels = Labels(
        None if pairs is None else read_pairs(pairs),
        None if clusters is None else read_clusters(clusters),
        clusters_field,
    )
    for file, read in ((pairs, labels.pairs), (clusters, labels.clusters)):
        if file is not None and not read:
            raise NotFound(f"{printable(file)}: no label in it")
    floor = FLOOR if min_resemblance is None else min_resemblance
    options = EvaluateOptions(None if radii is None else _radii(radii), floor, older_methods)
    with open_store(read_only=True) as store:
        with progress("read") as show:
            found = store.evaluate.run(labels, options, on_progress=show)
        kept = store.clusters.status()
    _report(found)
    if labels.pairs is not None:
        _say_what_is_judged(labels.pairs)
    _print(found, output_format, every=every)
    _suggest_threshold(found, kept)


def _exact(least: float, output_format: str) -> None:
    with open_store(read_only=True) as store, progress("read") as show:
        found = store.evaluate.exact_pairs(least, on_progress=show)
    columns = ("a", "b", "resemblance")
    rows = (
        (printable(pair.first), printable(pair.second), rounded(pair.resemblance)) for pair in found
    )
    print_rows(columns, rows, output_format)
    log.info("%s of resemblance %g or more", counted(len(found), "pair"), least)


def _radii(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", text.strip())
    if found is None:
        raise InvalidParameter(f"radius {text!r}: a number of bits, or two as in 0-12")
    return int(found[1]), int(found[2] or found[1])


def _size(found: Evaluation) -> str:
    """Return what was judged, in words."""
    documents = counted(found.document_count, "document")
    return f"{documents}, {counted(found.pair_count, 'labelled pair')}"


def _report(found: Evaluation) -> None:
    log.info("%s", _size(found))
    if found.unknown_keys:
        named = ", ".join(printable(key) for key in found.unknown_keys[:_NAMED_KEYS])
        more = ", ..." if len(found.unknown_keys) > _NAMED_KEYS else ""
        log.warning(
            "%s not in the store: %s%s",
            counted(len(found.unknown_keys), "labelled key is", "labelled keys are"),
            named,
            more,
        )


def _say_what_is_judged(pairs: Sequence[LabelledPair]) -> None:
    """Say what becomes of pairs without a label, which depends on the labels that there are."""
    if all(pair.duplicate for pair in pairs):
        log.info(
            "no pair is labelled 0, so every pair of documents without a label counts as distinct"
        )
    else:
        log.info("some pairs are labelled 0, so only pairs with a label are judged")


def _methods_of_commands(found: Evaluation) -> list[str]:
    """Return the methods whose pairs `simstore clusters` can be asked to join."""
    known = [method for method in found.methods if method in _COMMANDS]
    return [method for method in known if method != "minhash"] or known


def _method_to_show(found: Evaluation) -> str:
    """Return the method whose curve is shown: the steadiest by the labels, else the first."""
    methods = _methods_of_commands(found)
    chosen = found.steadiest(methods) if found.pair_count else None
    return chosen[0].method if chosen is not None else (methods or list(found.methods))[0]


def _suggest_threshold(found: Evaluation, kept: ClustersStatus | None) -> None:
    """Tell which threshold finds these labels most steadily, as a command.

    A default that is as good as that goes before it.

    Args:
        found: The evaluation.
        kept: The clusters that the store keeps.
    """
    methods = _methods_of_commands(found)
    chosen = found.steadiest(methods)
    if chosen is None or not found.pair_count:
        return
    point, mean = chosen
    defaults = [one for one in found.points if one.method in methods and one.is_default]
    best = max(defaults, key=lambda one: one.f1, default=point)
    if max(point.f1, best.f1) <= 0:
        log.warning(
            "no threshold is recommended: what these labels call duplicates is found by none (F1 0)"
        )
    elif best.f1 >= point.f1:
        log.info(
            "best by these labels, at the default threshold: `%s`; F1 of its pairs %.3f",
            _command(best, kept),
            best.f1,
        )
    else:
        log.info(
            "steadiest by these labels: `%s`; F1 of its pairs %.3f, and %.3f on average over the "
            "thresholds around it",
            _command(point, kept),
            point.f1,
            mean,
        )


def _command(point: CurvePoint, kept: ClustersStatus | None) -> str:
    """Return the command that joins what a method finds at a threshold."""
    from simstore.search.likeness import LEAST_COSINE, SURE_RESEMBLANCE

    is_kept = point.method in ("verified", "minhash")
    if is_kept and (kept.min_resemblance == point.threshold if kept else point.is_default):
        return "simstore clusters"
    options = _COMMANDS[point.method].format(
        least=f"{point.threshold:g}", sure=SURE_RESEMBLANCE, cosine=LEAST_COSINE
    )
    return f"simstore clusters{options}{' --rebuild' if is_kept and kept else ''}"


def _print(found: Evaluation, output_format: str, *, every: bool) -> None:
    from simstore.reports.evaluation import COLUMNS, records, tables

    if output_format != "table":
        print_rows(COLUMNS, records(found), output_format)
        return
    method = None if every else _method_to_show(found)
    for number, (title, columns, rows) in enumerate(tables(found, method)):
        click.echo(("\n" if number else "") + title, file=sys.stdout)
        print_table(columns, rows)
    if not every:
        tried = counted(len(found.points), "threshold was", "thresholds were")
        log.info("%s tried: --all lists them, and --format csv", tried)
