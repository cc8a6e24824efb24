"""Render clusters as table rows, JSON Lines and CSV, one line for each document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from simstore.errors import printable
from simstore.reports.lines import csv_line, key_bytes, key_text, rounded, to_json

if TYPE_CHECKING:
    from simstore.model import Cluster, ClusterMember, ClusterMerge, StoredCluster

# Why the document at a place of a cluster is in it; place 0 is the canonical one.
ReasonOf = Callable[[Sequence["ClusterMember"], int], str]

COLUMNS = ("cluster_id", "key", "role", "distance", "resemblance", "reason")
MERGE_COLUMNS = ("cluster_id", "merged_into", "when")


def numbered(
    clusters: Iterable[Cluster],
) -> Iterator[StoredCluster]:
    """Yield clusters of the moment, which have no names, with their place in the list, from 1."""
    from simstore.model import StoredCluster

    for place, cluster in enumerate(clusters, 1):
        yield StoredCluster(place, cluster.key, cluster.members)


def table_rows(clusters: Iterable[StoredCluster], reason_of: ReasonOf) -> Iterator[tuple[Any, ...]]:
    """Yield a row a document; the cluster stands in the first of its rows.

    Estimates of resemblance are marked with a tilde.
    """
    for cluster in clusters:
        for place, member in enumerate(cluster.members):
            yield (
                str(cluster.cluster_id) if place == 0 else "",
                member.key,
                _role(place),
                member.distance,
                f"{'~' if member.basis == 'sketch' else ''}{member.resemblance:.3f}",
                reason_of(cluster.members, place),
            )


def render_jsonl(clusters: Iterable[StoredCluster], reason_of: ReasonOf) -> Iterator[bytes]:
    """Yield one JSON object a document; a key that is not UTF-8 has its bytes in base64 too."""
    for record in _records(clusters, reason_of):
        key = record["key"]
        record |= {"key": key_text(key), **key_bytes("key", key)}
        yield to_json(record).encode() + b"\n"


def render_csv(clusters: Iterable[StoredCluster], reason_of: ReasonOf) -> Iterator[bytes]:
    """Yield a header and one row a document."""
    yield csv_line(COLUMNS)
    for record in _records(clusters, reason_of):
        yield csv_line([*(record | {"key": printable(record["key"])}).values()])


def _records(clusters: Iterable[StoredCluster], reason_of: ReasonOf) -> Iterator[dict[str, Any]]:
    """Yield the values of each document by the names of the columns, in their order."""
    for cluster in clusters:
        for place, member in enumerate(cluster.members):
            yield {
                "cluster_id": cluster.cluster_id,
                "key": member.key,
                "role": _role(place),
                "distance": member.distance,
                "resemblance": rounded(member.resemblance),
                "reason": reason_of(cluster.members, place),
            }


def merges_jsonl(merges: Iterable[ClusterMerge]) -> Iterator[bytes]:
    """Yield one JSON object a cluster that has ended; the time in seconds since 1970, UTC."""
    for merge in merges:
        values = (merge.cluster_id, merge.merged_into, merge.ended_at)
        yield to_json(dict(zip(MERGE_COLUMNS, values, strict=True))).encode() + b"\n"


def _role(place: int) -> str:
    return "member" if place else "canonical"
