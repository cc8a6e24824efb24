"""The command ``simstore clusters``: group stored documents that are near-duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.messages import log
from simstore.cli.options import (
    common_options,
    document_filters,
    filters_of,
    format_option,
    measure_options,
    open_store,
    radius_option,
    tell_empty_choice,
    yes_option,
)
from simstore.cli.output import confirm, progress, time_text
from simstore.cli.parameters import command, count, flag, flag_of, option, section, share
from simstore.cli.remote import refuse_served, server_url
from simstore.cli.results import print_record, print_rows, print_summary, write_blocks
from simstore.cli.tables import print_table
from simstore.errors import NotFound, ReadOnlyStore, counted
from simstore.model.documents import FILTERS
from simstore.reports.lines import json_array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simstore.model import Clustering, ClustersStatus, LeastShares, StoredCluster
    from simstore.services.clusters.reasons import ClusterRule
    from simstore.store import Store

# Options that only clusters of the moment know.
_OF_THE_MOMENT = (
    "min_likeness", "min_cosine", "radius", "exact_join", "channels",
    "short_texts", *FILTERS,
)  # fmt: skip
_ACTIONS = ("status", "merges", "drop")


@command()
@section(
    "Kept clusters",
    share(
        "--min-resemblance",
        "Least resemblance of a member to its canonical document.  [default: as they are kept, "
        "else 0.5]",
        zero=False,
    ),
    option(
        "--policy",
        "Which document is canonical: first (the first seen), longest, or prefer:REGEX (the "
        "first whose key has a match, else the first).  [default: as they are kept, else first]",
        metavar="POLICY",
    ),
    flag("--rebuild", "Make the clusters anew, by another rule if given."),
    flag("--status", "Tell in short what is kept; change nothing."),
    flag("--merges", "List the clusters that ended; change nothing."),
    flag("--drop", "Forget the clusters that are kept."),
    yes_option,
)
@section(
    "Clusters of the moment",
    flag(
        "--once",
        "Clusters of the moment: store nothing. cluster_id is the place in the list. Each of "
        "the options that follow implies it.",
    ),
    share(
        "--min-likeness",
        "Least likeness of a member to its canonical document: cosine of their terms, each "
        "weighing more the rarer it is in the store.",
        zero=False,
    ),
    share(
        "--min-cosine", "Least cosine by counts alone that goes with the likeness.  [default: 0.68]"
    ),
    radius_option(),
    flag(
        "--exact-join",
        "Find every pair that reaches a threshold, not only what the channels find; needs the "
        "texts, and memory for the shingles and terms of all.",
    ),
    measure_options(),
    document_filters(),
)
@section(
    "Answer",
    count("--min-size", "Leave out clusters of fewer documents.", default=2),
    format_option(),
)
@common_options
def clusters(output_format: str, min_size: int, **options: Any) -> None:
    r"""Group the stored documents that are nearly the same, and keep the groups up to date.

    Examples:
      simstore clusters                        bring them up to date, print them
      simstore clusters --min-resemblance 0.8  the first time: close ones
      simstore clusters --rebuild --policy 'prefer:^https://example\.org/'
      simstore clusters --merges --format csv  which clusters became part of which
      simstore clusters --once --exact-join    pairs that share few phrases, too
      simstore clusters --min-likeness 0.45 --min-cosine 0 --exact-join
      simstore clusters --channels characters  scans and typed copies of a text

    A cluster is a canonical document and those that are like it; no member is there by way of
    another. Kept clusters go by resemblance. Clusters of the moment go by one of the two thresholds
    that are given; where none is, by a resemblance of 0.65 or a likeness of 0.58 with a cosine of
    0.68. Without texts (init --no-text) resemblance is estimated from the sketches and marked ~,
    and there is no likeness. `docs/how-to/clusters.md` tells more.
    """
    given = [name for name in _OF_THE_MOMENT if options[name] not in (None, False, ())]
    once = options["once"] or bool(given)
    actions = [name for name in _ACTIONS if options[name]]
    _refuse_mixtures(options, once=once, given=given, actions=actions)
    if once:
        refuse_served(("once", *_OF_THE_MOMENT))
        _once(output_format, min_size, options)
    elif options["drop"]:
        _drop(output_format, yes=options["yes"])
    elif actions:
        {"status": _status, "merges": _merges}[actions[0]](output_format)
    else:
        _stored(output_format, min_size, options)


def _refuse_mixtures(
    options: dict[str, Any], *, once: bool, given: list[str], actions: list[str]
) -> None:
    others = [name for name in ("min_resemblance", "policy", "rebuild") if options[name]]
    if len(actions) > 1 or (actions and (once or others)):
        asked = [
            flag_of(name) for name in (*actions, *(["once"] * options["once"]), *given, *others)
        ]
        raise click.UsageError(f"{asked[0]} goes without {' and '.join(asked[1:])}")
    if once and options["rebuild"]:
        why = f" ({flag_of(given[0])} implies it)" if given and not options["once"] else ""
        raise click.UsageError(f"--rebuild makes kept clusters: it goes without --once{why}")


def _stored(output_format: str, min_size: int, options: dict[str, Any]) -> None:
    from simstore.model import LeastShares
    from simstore.services.clusters.reasons import ClusterRule

    with open_store(served=True) as store:
        summary = _up_to_date(store, options)
        rule = ClusterRule(summary.policy, LeastShares(summary.min_resemblance))
        member_count, count = _print(store.clusters.list(min_size), rule, output_format)
        _report_counts(len(store), member_count, count, min_size)
    _report_stored(summary)


def _up_to_date(store: Store, options: dict[str, Any]) -> ClustersStatus:
    """Return the status of the clusters, after an update where the store can be written."""
    if server_url() is not None:
        refuse_served(["min_resemblance", "policy", "rebuild"])
        kept = store.clusters.status()
        if kept is None:
            raise _no_clusters()
        return kept
    try:
        with progress("clustered") as show:
            return store.clusters.build(
                min_resemblance=options["min_resemblance"],
                policy=options["policy"],
                rebuild=options["rebuild"],
                on_progress=show,
            )
    except ReadOnlyStore as error:
        summary = None if options["rebuild"] else store.clusters.status()
        if summary is None:
            raise
        log.warning("not brought up to date: %s", error)
        return summary


def _report_stored(summary: ClustersStatus) -> None:
    if summary.made_anew:
        log.info("all clusters were made; the next `simstore clusters` updates them")
    log.info("kept at a resemblance of %g, policy %s", summary.min_resemblance, summary.policy)
    if summary.basis == "sketch":
        log.info("resemblance is estimated from the sketches: this store keeps no texts")
    if summary.waiting_count:
        log.warning(
            "behind: the documents of %s changed since", counted(summary.waiting_count, "text")
        )
    if not summary.is_current:
        log.warning("behind: fingerprints or sketches are others since; `simstore clusters` again")


def _status(output_format: str) -> None:
    with open_store(read_only=True, served=True) as store:
        summary = store.clusters.status(largest=True)
    if summary is None:
        raise _no_clusters()
    facts = (
        ("min resemblance", summary.min_resemblance),
        ("policy", summary.policy),
        ("radius", summary.radius),
        ("verified by", summary.basis),
        ("texts", summary.text_count),
        ("clusters", summary.cluster_count),
        ("largest", summary.largest_count),
        ("waiting", summary.waiting_count),
        ("to be made anew", not summary.is_current),
        ("brought up to date", time_text(summary.updated_at)),
    )
    record = {name.replace(" ", "_"): value for name, value in facts}
    print_record(record, output_format)


def _merges(output_format: str) -> None:
    from simstore.reports.clusters import MERGE_COLUMNS, merges_jsonl

    with open_store(read_only=True, served=True) as store:
        if store.clusters.status() is None:
            raise _no_clusters()
        merges = store.clusters.merges()
        if output_format in ("json", "jsonl"):
            lines = merges_jsonl(merges)
            write_blocks(json_array(lines) if output_format == "json" else lines)
            return
        # Names of clusters are no amounts: no commas in them, and to the left.
        rows = (
            (
                str(one.cluster_id),
                None if one.merged_into is None else str(one.merged_into),
                time_text(one.ended_at),
            )
            for one in merges
        )
        print_rows(MERGE_COLUMNS, rows, output_format)


def _drop(output_format: str, *, yes: bool) -> None:
    with open_store() as store:
        if store.clusters.status() is not None:
            confirm("the clusters and their ids would be forgotten", yes=yes)
        dropped = store.clusters.drop()
    print_summary({"dropped": dropped}, "", output_format)
    log.info("the kept clusters are forgotten" if dropped else "no clusters were kept")


def _no_clusters() -> NotFound:
    if server_url() is not None:
        return NotFound(
            "the served store keeps no clusters; `simstore clusters` makes them where the store "
            "is: a server only shows them"
        )
    return NotFound("this store keeps no clusters; `simstore clusters` makes them")


def _once(output_format: str, min_size: int, options: dict[str, Any]) -> None:
    from simstore.reports.clusters import numbered
    from simstore.services.clusters.cluster import ClusterOptions
    from simstore.services.clusters.reasons import ClusterRule

    chosen = {name: options[name] for name in ("min_resemblance", *_OF_THE_MOMENT)}
    asked = ClusterOptions(policy=options["policy"] or "first", min_size=min_size, **chosen)
    with open_store(read_only=True) as store, progress("read") as show:
        found = store.clusters.once(asked, on_progress=show)
        if not found.document_count:
            tell_empty_choice(store, filters_of(options))
    if found.stale and not asked.exact_join:
        log.warning(
            "fingerprints are the standing generation's: %s; `simstore vocabulary refresh`",
            found.stale,
        )
    rule = ClusterRule(asked.policy, found.least)
    member_count, count = _print(numbered(found.clusters), rule, output_format)
    _report_counts(found.document_count, member_count, count, min_size)
    _report_computed(found, by_characters="characters" in asked.channels)


def _print(
    found: Iterable[StoredCluster], rule: ClusterRule, output_format: str
) -> tuple[int, int]:
    """Print clusters; return how many documents and how many clusters they were."""
    from simstore.reports.clusters import COLUMNS, render_csv, render_jsonl, table_rows

    member_count = count = 0

    def tallied() -> Iterator[StoredCluster]:
        nonlocal member_count, count
        for one in found:
            member_count += len(one.members)
            count += 1
            yield one

    if output_format == "table":
        print_table(COLUMNS, table_rows(tallied(), rule.reason))
    elif output_format == "csv":
        write_blocks(render_csv(tallied(), rule.reason))
    else:
        lines = render_jsonl(tallied(), rule.reason)
        write_blocks(json_array(lines) if output_format == "json" else lines)
    return member_count, count


def _report_counts(documents: int, member_count: int, count: int, min_size: int) -> None:
    log.info(
        "%s: %s in %s of %d or more",
        counted(documents, "document"),
        counted(member_count, "is", "are"),
        counted(count, "cluster"),
        min_size,
    )


def _report_computed(found: Clustering, *, by_characters: bool) -> None:
    of = " of characters" if by_characters else ""
    log.info("a member reaches %s%s", _rule(found.least), of)
    if found.basis == "sketch":
        log.info("resemblance is estimated from the sketches: this store keeps no texts")
    if found.too_short_count:
        log.info(
            "%s too short to judge: they join only %s",
            counted(found.too_short_count, "is", "are"),
            "those of the same text; --short-texts judges them"
            if by_characters
            else "where one wholly contains the other",
        )


def _rule(least: LeastShares) -> str:
    rules = []
    if least.resemblance is not None:
        rules.append(f"a resemblance of {least.resemblance:g}")
    if least.likeness is not None:
        rules.append(f"a likeness of {least.likeness:g} with a cosine of {least.cosine:g}")
    return " or ".join(rules)
