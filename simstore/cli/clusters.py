"""``simstore clusters``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.options import common_options, format_option, log, open_store
from simstore.cli.output import print_table, progress

if TYPE_CHECKING:
    from simstore.model import Clustering, LeastShares


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  simstore clusters                         near-duplicates, grouped\n"
        "  simstore clusters --min-resemblance 0.8   only close ones\n"
        "  simstore clusters --min-likeness 0.45 --min-cosine 0 --exact-join\n"
        "  simstore clusters --exact-join            miss none, however many documents\n"
        "  simstore clusters --min-size 1 --format csv --policy longest\n\n"
        "A cluster is a canonical document and those that are like it; no member is there by "
        "way of another. A member reaches one of the two thresholds that are given; where none "
        "is, a resemblance of 0.65 or a likeness of 0.58 with a cosine of 0.68. Without texts "
        "(init --no-text) resemblance is estimated from the sketches and marked ~, there is no "
        "likeness, and a resemblance of 0.5 is asked for. `docs/clusters.md` tells more."
    )
)
@click.option(
    "--min-resemblance",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Least resemblance of a member to its canonical document.",
)
@click.option(
    "--min-likeness",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Least likeness of a member to its canonical document: cosine of their terms, each "
    "weighing more the rarer it is in the store.",
)
@click.option(
    "--min-cosine",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Least cosine by counts alone that goes with the likeness.  [default: 0.68]",
)
@click.option(
    "-k",
    "--radius",
    type=click.IntRange(min=0),
    metavar="BITS",
    help="Radius within which fingerprints are compared.  [default: min(3, M)]",
)
@click.option(
    "--exact-join",
    is_flag=True,
    help="Find every pair that reaches a threshold, not only what the channels find; needs the "
    "texts, and memory for the shingles and terms of all.",
)
@click.option(
    "--policy",
    type=click.Choice(["first", "longest"]),
    default="first",
    show_default=True,
    help="Which document is canonical: the first seen, or the longest.",
)
@click.option(
    "--min-size",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="Leave out clusters of fewer documents.",
)
@click.option("--collection", metavar="NAME", help="Only documents of this collection.")
@format_option("table", "jsonl", "csv")
@common_options
def clusters(
    min_resemblance: float | None,
    min_likeness: float | None,
    min_cosine: float | None,
    radius: int | None,
    exact_join: bool,
    policy: Any,
    min_size: int,
    collection: str | None,
    output_format: str,
) -> None:
    """Group the stored documents that are nearly the same; nothing is stored."""
    from simstore.services.cluster import ClusterOptions

    options = ClusterOptions(
        min_resemblance, radius, exact_join, policy, min_size, collection, min_likeness, min_cosine
    )
    with open_store(read_only=True) as store, progress("read") as show:
        found = store.clusters(options, on_progress=show)
    if found.stale and not exact_join:
        log.warning(
            "fingerprints are the standing generation's: %s; `simstore vocabulary refresh`",
            found.stale,
        )
    _print(found, output_format)
    _tell(found, options.min_size)


def _print(found: Clustering, output_format: str) -> None:
    from simstore.reports.clusters import render_csv, render_jsonl, table_columns, table_rows

    if output_format == "table":
        likeness = found.least.likeness is not None
        print_table(table_columns(likeness=likeness), table_rows(found.clusters, likeness=likeness))
        return
    render = render_jsonl if output_format == "jsonl" else render_csv
    for block in render(found.clusters):
        sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()


def _tell(found: Clustering, min_size: int) -> None:
    held = sum(len(cluster.members) for cluster in found.clusters)
    log.info(
        "%s documents: %s are in %s clusters of %d or more",
        f"{found.document_count:,}",
        f"{held:,}",
        f"{len(found.clusters):,}",
        min_size,
    )
    log.info("a member reaches %s", _rule(found.least))
    if found.basis == "sketch":
        log.info("resemblance is estimated from the sketches: this store keeps no texts")
    if found.too_short_count:
        log.info(
            "%s are too short to judge: they join only where one wholly contains the other",
            f"{found.too_short_count:,}",
        )


def _rule(least: LeastShares) -> str:
    rules = []
    if least.resemblance is not None:
        rules.append(f"a resemblance of {least.resemblance:g}")
    if least.likeness is not None:
        rules.append(f"a likeness of {least.likeness:g} with a cosine of {least.cosine:g}")
    return " or ".join(rules)
